//! The graph of equal values as a picture.

use tgsi::Program;
use tgsi_ir::lift;
use tgsi_passes::egraph;

use super::Run;
use crate::{Level, Options};

/// Why [`egraph_dot`] has nothing to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoGraph {
    /// The program is not lifted, or a pass failed: the reason.
    Input(String),
    /// More values than fit a picture.
    TooLarge {
        /// How many there are.
        values: usize,
        /// How many there may be.
        most: usize,
    },
    /// The options leave no room for rules.
    Disabled,
    /// No rule changes anything.
    Plain,
}

impl std::fmt::Display for NoGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoGraph::Input(why) => write!(f, "no graph is made: {why}"),
            NoGraph::TooLarge { values, most } => write!(
                f,
                "the graph of {values} values is too large to look at; {most} are the most"
            ),
            NoGraph::Disabled => f.write_str("no graph is made under these options"),
            NoGraph::Plain => f.write_str("no graph is made: no rule applies"),
        }
    }
}

impl std::error::Error for NoGraph {}

/// Most values of a function that [`egraph_dot`] shows.
const MOST_SHOWN: usize = 400;

/// The graph of equal values that the first round makes, in the language of Graphviz: a cluster a
/// class, the rules that gave an alternative below it, in bold what is computed.
///
/// # Errors
/// Why there is no graph.
pub fn egraph_dot(program: &Program, options: &Options) -> Result<String, NoGraph> {
    let mut run = Run::new(program, options, None);
    if options.level == Level::O0 || !run.rewrites() {
        return Err(NoGraph::Disabled);
    }
    let f = lift(program).map_err(|e| NoGraph::Input(e.to_string()))?;
    let f = run.clean(f).map_err(|e| NoGraph::Input(e.reason))?;
    let f = run.legal(f).0;
    if f.values.len() > MOST_SHOWN {
        return Err(NoGraph::TooLarge {
            values: f.values.len(),
            most: MOST_SHOWN,
        });
    }
    let effort = match options.level {
        Level::O3 => egraph::WIDE,
        Level::O2 => egraph::PLAIN,
        Level::O0 | Level::O1 => egraph::QUICK,
    };
    egraph::dot(&f, &run.cx(), effort).ok_or(NoGraph::Plain)
}

//! How a program is optimised in one check.

use tgsi_opt::{Level, Options, PassSpec, Profile, passes};
use tgsi_target::Target;

use crate::choices::Choices;

/// A level, a target and perhaps a list of passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The level.
    pub level: Level,
    /// Whether the target is virgl; else it is generic.
    pub virgl: bool,
    /// These passes in place of the level's own.
    pub passes: Option<Vec<String>>,
    /// Rewrites that may happen in all.
    pub fuel: Option<u64>,
    /// What rewriting may do with floats.
    pub profile: Profile,
    /// A seed that decides in place of heuristics.
    pub chaos: Option<u64>,
}

impl Setup {
    /// A level for a target, with the level's own passes and no liberties with floats.
    pub fn of_level(level: Level, virgl: bool) -> Setup {
        Setup {
            level,
            virgl,
            passes: None,
            fuel: None,
            profile: Profile::Strict,
            chaos: None,
        }
    }

    /// The setups that `bytes` choose for one program: -O1 and -O2, now and then single passes,
    /// lists of passes, little fuel, -O3 and the usual liberties with floats.
    pub fn choose(bytes: &[u8]) -> Vec<Setup> {
        let mut c = Choices::new(bytes);
        let virgl = c.chance(35);
        let mut setups = vec![
            Setup::of_level(Level::O1, virgl),
            Setup::of_level(Level::O2, virgl),
        ];
        if c.chance(30) {
            setups.push(Setup {
                passes: Some(pass_list(&mut c)),
                ..Setup::of_level(Level::O1, virgl)
            });
        }
        if c.chance(12) {
            let fuel = Some(c.below(40) as u64);
            setups.push(Setup {
                fuel,
                ..Setup::of_level(Level::O1, virgl)
            });
        }
        if c.chance(10) {
            setups.push(Setup::of_level(Level::O3, virgl));
        }
        if c.chance(25) {
            let level = [Level::O1, Level::O2, Level::O3][c.weighted(&[45, 45, 10])];
            setups.push(Setup {
                profile: Profile::Auto,
                ..Setup::of_level(level, virgl)
            });
        }
        if c.chance(25) {
            let level = [Level::O1, Level::O2, Level::O3][c.weighted(&[45, 45, 10])];
            setups.push(Setup {
                chaos: Some(c.below(1 << 16) as u64),
                ..Setup::of_level(level, virgl)
            });
        }
        setups
    }

    /// Whether a second optimisation must find nothing: the level repeats its rounds itself.
    pub fn repeats(&self) -> bool {
        self.level >= Level::O2
            && self.passes.is_none()
            && self.fuel.is_none()
            && self.chaos.is_none()
    }

    /// As the optimiser takes it.
    pub fn options(&self) -> Options {
        let name = if self.virgl { "virgl" } else { "generic" };
        let spec = |name: &String| PassSpec {
            name: name.clone(),
            args: Vec::new(),
        };
        Options {
            level: self.level,
            target: Target::by_name(name).cloned().unwrap_or_default(),
            passes: self
                .passes
                .as_ref()
                .map(|list| list.iter().map(spec).collect()),
            fuel: self.fuel,
            profile: self.profile,
            chaos: self.chaos,
            verify_each: true,
            check_regalloc: true,
            ..Options::default()
        }
    }
}

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.passes {
            Some(list) => write!(f, "passes={}", list.join(","))?,
            None => write!(f, "level={:?}", self.level)?,
        }
        write!(
            f,
            " target={}",
            if self.virgl { "virgl" } else { "generic" }
        )?;
        if let Some(fuel) = self.fuel {
            write!(f, " fuel={fuel}")?;
        }
        if let Some(seed) = self.chaos {
            write!(f, " chaos={seed}")?;
        }
        match self.profile {
            Profile::Strict => Ok(()),
            profile => write!(f, " fp={}", profile.name()),
        }
    }
}

/// No pass, one, or several in any order.
fn pass_list(c: &mut Choices<'_>) -> Vec<String> {
    let all = passes();
    let name = |c: &mut Choices<'_>| all.get(c.below(all.len())).map(|p| p.name.to_owned());
    let count = c.weighted(&[10, 55, 20, 15]);
    (0..count).filter_map(|_| name(c)).collect()
}

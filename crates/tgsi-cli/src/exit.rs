//! Exit codes.

use std::process::ExitCode;

/// How one input, or all of them, went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    #[default]
    Done,
    /// An input is not a valid program, or a file could not be read or written.
    Invalid,
    /// The command line is wrong.
    Usage,
    /// A result does not fit its target.
    Misfit,
    /// A result could not be verified, or two programs differ.
    Unverified,
}

impl Exit {
    fn rank(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Misfit => 1,
            Exit::Unverified => 2,
            Exit::Invalid => 3,
            Exit::Usage => 4,
        }
    }

    /// The graver of two.
    pub(crate) fn and(self, other: Exit) -> Exit {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Invalid => 1,
            Exit::Usage => 2,
            Exit::Misfit => 3,
            Exit::Unverified => 4,
        })
    }
}

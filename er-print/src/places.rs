//! Where sources are looked for, and how they are annotated.

use symbolize::search::SearchPath;

/// Comments that annotated sources and instructions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comments {
    /// Waits of OpenMP constructs at their lines.
    pub(crate) waits: bool,
    /// Inlined functions at the lines into which they were inlined.
    pub(crate) inlined: bool,
    /// Source lines between instructions.
    pub(crate) source: bool,
}

impl Comments {
    /// Every comment.
    pub(crate) const ALL: Comments = Comments {
        waits: true,
        inlined: true,
        source: true,
    };

    /// None.
    pub(crate) const NONE: Comments = Comments {
        waits: false,
        inlined: false,
        source: false,
    };
}

/// What commands on places set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    /// How sources and load objects are looked for.
    pub(crate) search: SearchPath,
    /// Source lines with at least this percentage of a column's largest value are hot.
    pub(crate) source_hot: f64,
    /// The same for instructions.
    pub(crate) instruction_hot: f64,
    /// Comments in sources.
    pub(crate) source_comments: Comments,
    /// Comments in instructions.
    pub(crate) instruction_comments: Comments,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            search: SearchPath::default(),
            source_hot: 75.0,
            instruction_hot: 75.0,
            source_comments: Comments::ALL,
            instruction_comments: Comments::ALL,
        }
    }
}

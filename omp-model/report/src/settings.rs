//! The user's choices: the part of the time, metrics, order, names.

use experiment::ids::ModuleId;
use omp_model::analysis::Analysis;
use omp_model::filter::Filter;
use omp_model::metrics::{Column, SortKey};
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::visibility::{Visibility, default_of};
use symbolize::search::SearchPath;

use crate::races::suppressions::Suppressions;

/// The user's choices, which every builder obeys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Columns; `None`: the experiment's default.
    pub columns: Option<Vec<Column>>,
    /// Order; `None`: the columns' own.
    pub sort: Option<SortKey>,
    /// At most so many rows; 0: all.
    pub limit: usize,
    /// Rows below so many percent of the whole are left out.
    pub least_percent: f64,
    /// How functions are called.
    pub style: NameStyle,
    /// The viewpoint.
    pub mode: ViewMode,
    /// Whether inlined functions have frames of their own.
    pub inline: Inline,
    /// Which part of the time documents are about.
    pub filter: Option<Filter>,
    /// Which load objects are shown in full.
    pub objects: Objects,
    /// How several experiments are shown.
    pub compare: Compare,
    /// How sources and instructions are annotated.
    pub annotation: Annotation,
    /// Findings that are counted and not shown.
    pub suppressions: Suppressions,
}

impl Settings {
    /// The choices at the beginning: machine mode where all experiments are files of `perf record`, which have
    /// no calling contexts to rewrite stacks with.
    pub fn at_first<'a>(experiments: impl IntoIterator<Item = &'a Analysis>) -> Settings {
        let mut all = experiments.into_iter().peekable();
        let has_some = all.peek().is_some();
        let are_by_perf = all.all(|it| it.experiment.header.perf.is_some());
        Settings {
            mode: if has_some && are_by_perf {
                ViewMode::Machine
            } else {
                ViewMode::default()
            },
            ..Settings::default()
        }
    }
}

/// How several experiments are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// Added up.
    #[default]
    Off,
    /// Values side by side.
    On,
    /// The first's values, and how far the others differ.
    Delta,
    /// The first's values, and the ratio of the others to them.
    Ratio,
    /// By number of threads, with what is lost against ideal scaling.
    Scaling,
}

impl Compare {
    /// Every mode, in the order of their words.
    pub const ALL: [Compare; 5] = [
        Compare::Off,
        Compare::On,
        Compare::Delta,
        Compare::Ratio,
        Compare::Scaling,
    ];

    /// Its word in the command language.
    pub const fn word(self) -> &'static str {
        match self {
            Compare::Off => "off",
            Compare::On => "on",
            Compare::Delta => "delta",
            Compare::Ratio => "ratio",
            Compare::Scaling => "scaling",
        }
    }
}

/// Which load objects are shown in full, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// The choice for objects that are not named below; `None`: each object's default.
    others: Option<Visibility>,
    /// Later entries win.
    named: Vec<(String, Visibility)>,
}

impl Objects {
    /// Whether everything is shown as at the start.
    pub fn is_default(&self) -> bool {
        *self == Objects::default()
    }

    /// Sets the choice for some objects, with commas between them; `all` is every one.
    pub fn set(&mut self, list: &str, visibility: Visibility) {
        for name in object_names(list) {
            if name.eq_ignore_ascii_case("all") {
                *self = Objects {
                    others: Some(visibility),
                    named: Vec::new(),
                };
            } else {
                self.named.retain(|(known, _)| *known != name);
                self.named.push((name, visibility));
            }
        }
    }

    /// Shows these alone.
    pub fn select(&mut self, list: &str) {
        self.set("all", Visibility::Hide);
        self.set(list, Visibility::Show);
    }

    /// How an object is shown: as chosen by the last part of its path, else by default.
    pub fn visibility(&self, names: &Names<'_>, module: ModuleId) -> Visibility {
        let bare = bare_object(names.object_name(module));
        let found = self.named.iter().find(|(known, _)| known == bare);
        let chosen = found.map_or(self.others, |(_, visibility)| Some(*visibility));
        chosen.unwrap_or_else(|| default_of(names.tables, module))
    }
}

/// The names of a list, as `object_list` or rows of hidden objects have them: `<libc.so.6>` is
/// `libc.so.6`, `[kernel]` is `kernel`.
pub fn object_names(list: &str) -> Vec<String> {
    list.split(',')
        .map(|name| bare_object(name.trim()).to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// A name without the brackets around it.
pub fn bare_object(name: &str) -> &str {
    name.trim_matches(['<', '>', '[', ']'])
}

/// How sources and instructions are annotated, and where they are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// How sources and load objects are looked for.
    pub search: SearchPath,
    /// Source lines with at least this percentage of a column's largest value are hot.
    pub source_hot: f64,
    /// The same for instructions.
    pub instruction_hot: f64,
    /// Comments in sources.
    pub source_comments: Comments,
    /// Comments in instructions.
    pub instruction_comments: Comments,
}

impl Default for Annotation {
    fn default() -> Annotation {
        Annotation {
            search: SearchPath::default(),
            source_hot: 75.0,
            instruction_hot: 75.0,
            source_comments: Comments::ALL,
            instruction_comments: Comments::ALL,
        }
    }
}

/// Comments that annotated sources and instructions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    /// Waits of OpenMP constructs at their lines.
    pub waits: bool,
    /// Inlined functions at the lines into which they were inlined.
    pub inlined: bool,
    /// Source lines between instructions.
    pub source: bool,
}

impl Comments {
    /// Every comment.
    pub const ALL: Comments = Comments {
        waits: true,
        inlined: true,
        source: true,
    };

    /// None.
    pub const NONE: Comments = Comments {
        waits: false,
        inlined: false,
        source: false,
    };
}

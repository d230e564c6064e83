//! What commands work on: the recording, the settings, the output.

use std::cell::OnceCell;
use std::path::Path;

use omp_model::experiment::Experiment;
use omp_model::metrics::{Available, Column, Flavour, Metric, Quantity, SortKey};
use omp_model::profile::{Profile, ViewMode};
use omp_model::share::{self, Shares};
use omp_model::symbolize::{self, Files};
use omp_model::symbols::SymbolTable;
use omp_model::views::Request;
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::notices::{Notice, notices};
use omp_model::views::overview::uses_openmp;

use crate::failure::Stop;
use crate::output::Output;

/// An experiment, and its profile in the modes that were asked for.
pub(crate) struct Recording {
    /// As it was named.
    pub(crate) name: String,
    /// What was recorded.
    pub(crate) experiment: Experiment,
    /// Names of its addresses.
    pub(crate) symbols: SymbolTable,
    /// What is not as it should be with its files.
    pub(crate) warnings: Vec<String>,
    shares: OnceCell<Shares>,
    user: OnceCell<Profile>,
    machine: OnceCell<Profile>,
}

impl Recording {
    /// Opens an experiment.
    pub(crate) fn open(path: &Path) -> Result<Recording, Stop> {
        let mut experiment =
            Experiment::open(path).map_err(|error| Stop::Data(error.to_string()))?;
        let mut warnings: Vec<String> = experiment
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        let symbols = experiment.symbols.take().unwrap_or_else(|| {
            warnings.push(
                "it holds no symbols: they were taken from the files as they are on this machine now"
                    .to_owned(),
            );
            symbolize::resolve(&experiment.tables, &mut Files::default())
        });
        Ok(Recording {
            name: path.display().to_string(),
            experiment,
            symbols,
            warnings,
            shares: OnceCell::new(),
            user: OnceCell::new(),
            machine: OnceCell::new(),
        })
    }

    /// Its time on display stacks, made when it is first asked for.
    pub(crate) fn profile(&self, mode: ViewMode) -> &Profile {
        let cell = match mode {
            ViewMode::User | ViewMode::Expert => &self.user,
            ViewMode::Machine => &self.machine,
        };
        cell.get_or_init(|| {
            let source = share::Recording {
                tables: &self.experiment.tables,
                symbols: &self.symbols,
                sums: &self.experiment.sums,
                header: &self.experiment.header,
            };
            let shares = self
                .shares
                .get_or_init(|| Shares::new(&source, self.experiment.samples.iter()));
            shares.profile(&source, mode)
        })
    }

    /// The metrics that it has: the same in every mode, so any profile will do.
    pub(crate) fn available(&self) -> Available {
        let made = self.user.get().or_else(|| self.machine.get());
        let profile = made.unwrap_or_else(|| self.profile(ViewMode::User));
        let openmp = uses_openmp(&self.experiment.tables, profile);
        Available::new(&self.experiment.header.sampling, openmp)
    }
}

/// How tables are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PrintMode {
    /// For people.
    #[default]
    Text,
    /// One object a command.
    Json,
}

/// What commands set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Columns; `None`: the recording's default.
    pub(crate) columns: Option<Vec<Column>>,
    /// Order; `None`: the columns' own.
    pub(crate) sort: Option<SortKey>,
    /// At most so many rows; 0: all.
    pub(crate) limit: usize,
    /// How functions are called.
    pub(crate) style: NameStyle,
    /// The viewpoint.
    pub(crate) mode: ViewMode,
    /// Text or JSON.
    pub(crate) print: PrintMode,
}

/// A run of commands.
pub(crate) struct Session<'a> {
    /// What commands set.
    pub(crate) settings: Settings,
    /// Scripts that are being read.
    pub(crate) script_depth: usize,
    recording: Option<Recording>,
    output: &'a mut Output,
}

/// All that a view needs.
pub(crate) struct Scene<'a> {
    /// The recording.
    pub(crate) recording: &'a Recording,
    /// In the current mode.
    pub(crate) profile: &'a Profile,
    /// In the current style.
    pub(crate) names: Names<'a>,
    /// Columns of lists of functions and lines.
    pub(crate) columns: Vec<Column>,
    /// The metrics of the columns and of the order, and that order.
    pub(crate) request: Request,
    /// What must be said under a view.
    pub(crate) notices: Vec<Notice>,
    /// What commands set.
    pub(crate) settings: &'a Settings,
}

impl<'a> Session<'a> {
    /// Starts with default settings.
    pub(crate) fn new(recording: Option<Recording>, output: &'a mut Output) -> Session<'a> {
        Session {
            settings: Settings::default(),
            script_depth: 0,
            recording,
            output,
        }
    }

    /// Prints a report.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Stop> {
        self.output.print(text)
    }

    /// Hands on what is buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.output.flush()?)
    }

    /// Sends what follows to a file.
    pub(crate) fn redirect(&mut self, name: &str, append: bool) -> Result<(), Stop> {
        self.output.redirect(name, append)
    }

    /// The recording.
    pub(crate) fn recording(&self) -> Result<&Recording, Stop> {
        self.recording
            .as_ref()
            .ok_or_else(|| Stop::words("this command needs an experiment: name its directory last"))
    }

    /// The columns in force.
    pub(crate) fn columns(&self) -> Result<Vec<Column>, Stop> {
        match &self.settings.columns {
            Some(columns) => Ok(columns.clone()),
            None => {
                let available = self.recording()?.available();
                let parsed = Column::parse_list(&available.default_spec(), &available);
                parsed.map_err(|error| Stop::Words(error.to_string()))
            }
        }
    }

    /// The order in force: the one asked for, else that of the columns.
    pub(crate) fn sort_key(&self) -> Result<SortKey, Stop> {
        match self.settings.sort {
            Some(key) => Ok(key),
            None => Ok(SortKey::of_list(&self.columns()?)),
        }
    }

    /// All that a view needs.
    pub(crate) fn scene(&self) -> Result<Scene<'_>, Stop> {
        let recording = self.recording()?;
        let profile = recording.profile(self.settings.mode);
        let columns = self.columns()?;
        let sort = self.sort_key()?;
        let mut metrics = Vec::new();
        for quantity in columns
            .iter()
            .map(|column| column.quantity)
            .chain([sort.quantity])
        {
            if let Quantity::Time(_, metric) = quantity
                && !metrics.contains(&metric)
            {
                metrics.push(metric);
            }
        }
        Ok(Scene {
            recording,
            profile,
            names: Names {
                tables: &recording.experiment.tables,
                symbols: &recording.symbols,
                style: self.settings.style,
            },
            columns,
            request: Request { metrics, sort },
            notices: notices(&recording.experiment.header, profile),
            settings: &self.settings,
        })
    }
}

impl Scene<'_> {
    /// How many of `rows` rows the limit leaves.
    pub(crate) fn limited(&self, rows: usize) -> usize {
        match self.settings.limit {
            0 => rows,
            limit => rows.min(limit),
        }
    }

    /// Each metric of the columns once, attributed: the columns of a call tree.
    pub(crate) fn attributed(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for column in &self.columns {
            let quantity = match column.quantity {
                Quantity::Time(_, metric) => Quantity::Time(Flavour::Attributed, metric),
                other => other,
            };
            match columns.iter_mut().find(|known| known.quantity == quantity) {
                Some(known) => {
                    known.value |= column.value;
                    known.percent |= column.percent;
                }
                None => columns.push(Column {
                    quantity,
                    ..*column
                }),
            }
        }
        columns
    }

    /// The current order as a call tree or a list of callers has it.
    pub(crate) fn attributed_sort(&self) -> SortKey {
        let quantity = match self.request.sort.quantity {
            Quantity::Time(_, metric) => Quantity::Time(Flavour::Attributed, metric),
            other => other,
        };
        SortKey {
            quantity,
            ..self.request.sort
        }
    }

    /// Where a metric stands in the values of a view.
    pub(crate) fn index(&self, metric: Metric) -> Option<usize> {
        self.request.index(metric)
    }
}

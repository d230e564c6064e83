//! The table of views: the tabs of `analyzer` and of the page for browsers.
//!
//! A view of rows is its row here and the report that it shows: both readers offer it. A reader has code of its own
//! only for what no document is: a drawing, and what keys do.

use Content::{Drawn, Made, Reports};

use crate::document::{Block, Line, Style};
use crate::header::header;
use crate::reports::Report;
use crate::{Document, Query, races};

/// Makes [`View`] and its rows of one table.
macro_rules! views {
    ($($(#[$about:meta])* $view:ident = $row:expr;)*) => {
        /// A view, in the order of `analyzer`'s tabs.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum View { $($(#[$about])* $view,)* }

        /// The rows, by the number of their view.
        static ROWS: [Row; View::ALL.len()] = [$($row,)*];

        impl View {
            /// Every view.
            pub const ALL: [View; [$(View::$view,)*].len()] = [$(View::$view,)*];
        }
    };
}

views! {
    /// Where the time went.
    #[default]
    Overview = row("Overview", Reports(&["overview"])).tab('1', "Over").page(1);
    /// The list of functions.
    Functions = row("Functions", Reports(&["functions"])).tab('2', "Func").page(3);
    /// One function between its callers and callees.
    Callers = row("Callers-Callees", Reports(&["callers-callees"])).tab('3', "Call").page(4);
    /// The call tree.
    Tree = row("Call Tree", Reports(&["calltree"])).tab('4', "Tree").page(5);
    /// The call tree as boxes.
    Flame = row("Flame Graph", Drawn("flame")).tab('5', "Flame").page(6);
    /// The source file of a function.
    Source = row("Source", Drawn("source")).tab('6', "Src").page(7);
    /// The instructions of a function.
    Disassembly = row("Disassembly", Drawn("disasm")).tab('d', "Asm");
    /// Regions and tasks.
    Regions = row("Regions", Reports(&["OMP_preg", "OMP_task"])).tab('7', "Reg").page(8)
        .order("What they could save, then tasks");
    /// Worksharing loops.
    Loops = row("Loops", Reports(&["OMP_loop"])).tab('w', "Loop").page(9).order("What they could save");
    /// Locks, critical sections and other mutexes.
    Locks = row("Locks", Reports(&["OMP_lock"])).tab('u', "Lock").page(10).order("How long threads waited");
    /// The ranks of an MPI program, what they waited for, and the functions of MPI; only where calls of it are recorded.
    Ranks = row("Ranks", Reports(&["ranks", "causes", "mpi"])).tab('p', "Rank").page(14);
    /// What `collect -r` found; only of experiments that it recorded.
    Races = row("Races", Made("races", races::view)).tab('R', "Race").page(0);
    /// The threads.
    Threads = row("Threads", Reports(&["Threads"])).tab('8', "Thr").page(11);
    /// Who did what when.
    Timeline = row("Timeline", Drawn("timeline")).tab('9', "Time").page(2);
    /// The phases that the program named.
    Phases = row("Phases", Reports(&["Phases"])).page(12);
    /// How the recording was made, and what it is short of.
    Experiment = row("Experiment", Made("header", header)).tab('0', "Exp").page(13);
    /// Any report of `er_print`.
    Report = row("Reports", Drawn("report")).tab('r', "Rep");
}

/// What decides which views there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// What `collect -r` found.
    pub findings: bool,
    /// Calls of MPI.
    pub mpi: bool,
}

impl Recorded {
    /// Of all experiments of a query.
    pub fn of(query: &Query<'_>) -> Recorded {
        Recorded {
            findings: races::has_findings(query),
            mpi: !query.all.analysis.experiment.mpi_calls.is_empty(),
        }
    }

    /// Whether there is anything that a view shows.
    pub fn has(self, view: View) -> bool {
        match view {
            View::Races => self.findings,
            View::Ranks => self.mpi,
            _ => true,
        }
    }
}

/// What is known of a view.
struct Row {
    /// Its name in headings and on tabs.
    title: &'static str,
    content: Content,
    /// Its key in `analyzer`, and its name where there is little room; `None` if it is no tab there.
    tab: Option<(char, &'static str)>,
    /// Its place among the tabs of the page; `None` if it is no tab there.
    page: Option<u8>,
    /// The order of its rows, if they are constructs.
    order: Option<&'static str>,
}

/// What a view shows.
enum Content {
    /// The documents of these reports, one below the other. The first one names the view.
    Reports(&'static [&'static str]),
    /// A document that no report shows, of a view with this name.
    Made(&'static str, fn(&Query<'_>) -> Document),
    /// What the reader makes itself: a drawing, or a document about one function.
    Drawn(&'static str),
}

const fn row(title: &'static str, content: Content) -> Row {
    Row {
        title,
        content,
        tab: None,
        page: None,
        order: None,
    }
}

impl Row {
    const fn tab(mut self, key: char, short: &'static str) -> Row {
        self.tab = Some((key, short));
        self
    }

    const fn page(mut self, place: u8) -> Row {
        self.page = Some(place);
        self
    }

    const fn order(mut self, words: &'static str) -> Row {
        self.order = Some(words);
        self
    }
}

impl View {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The view that a key of `analyzer` goes to.
    pub fn by_key(key: char) -> Option<View> {
        View::ALL.into_iter().find(|view| view.key() == Some(key))
    }

    /// Its key in `analyzer`: a digit, or a letter that no view has for anything else. `None` if it is no tab there.
    pub fn key(self) -> Option<char> {
        self.row().tab.map(|(key, _)| key)
    }

    /// Its name.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Its name where there is little room.
    pub fn short(self) -> &'static str {
        self.row().tab.map_or("", |(_, short)| short)
    }

    /// Its name in files and addresses: that of `er_print`'s command where there is one.
    pub fn name(self) -> &'static str {
        match self.row().content {
            Reports(names) => names[0],
            Made(name, _) | Drawn(name) => name,
        }
    }

    /// A text that names reports as `er_print` does, with the names of their views: `Locks` for `OMP_lock`.
    pub fn in_titles(text: &str) -> String {
        let reports = View::ALL
            .into_iter()
            .filter(|view| view.name().starts_with("OMP_"));
        reports.fold(text.to_owned(), |text, view| {
            text.replace(view.name(), view.title())
        })
    }

    /// The order of its rows in words, if they are constructs.
    pub fn order(self) -> Option<&'static str> {
        self.row().order
    }

    /// The tabs of `analyzer`.
    pub fn tabs(recorded: Recorded) -> impl DoubleEndedIterator<Item = View> {
        let all = View::ALL.into_iter().filter(|view| view.key().is_some());
        all.filter(move |view| recorded.has(*view))
    }

    /// The tabs of the page.
    pub(crate) fn of_page(recorded: Recorded) -> Vec<View> {
        let all = View::ALL
            .into_iter()
            .filter(|view| view.row().page.is_some());
        let mut all: Vec<View> = all.filter(|view| recorded.has(*view)).collect();
        all.sort_by_key(|view| view.row().page);
        all
    }

    /// Its document, in which views have the names that they have here; `None` if the reader makes it.
    pub fn document(self, query: &Query<'_>) -> Option<Document> {
        let mut document = self.made(query)?;
        for block in &mut document.blocks {
            if let Block::Table(table) = block
                && table.style == Style::Cards
            {
                for row in &mut table.rows {
                    row.name = View::in_titles(&row.name);
                }
            }
        }
        Some(document)
    }

    fn made(self, query: &Query<'_>) -> Option<Document> {
        let names = match self.row().content {
            Reports(names) => names,
            Made(_, make) => return Some(make(query)),
            Drawn(_) => return None,
        };
        let documents = names.iter().map(|name| {
            let report = Report::by_name(name).expect("the table names reports");
            let made = report.document(query, None);
            made.unwrap_or_else(|error| Document::of_lines(name, vec![error.to_string()]))
        });
        documents.reduce(|mut all, next| {
            // Lists of constructs say by themselves what they are.
            if self.order().is_none() && !next.title.is_empty() {
                all.blocks.push(Block::Lines(vec![Line::plain(next.title)]));
            }
            all.blocks.extend(next.blocks);
            for notice in next.notices {
                if !all.notices.contains(&notice) {
                    all.notices.push(notice);
                }
            }
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn views_of_findings_and_of_ranks_are_there_where_these_are_recorded() {
        let of = |findings, mpi| Recorded { findings, mpi };
        let has = |recorded, view| View::tabs(recorded).any(|it| it == view);
        assert!(has(of(true, false), View::Races) && !has(of(false, true), View::Races));
        assert!(has(of(false, true), View::Ranks) && !has(of(true, false), View::Ranks));
        let page = View::of_page(of(false, true));
        assert!(page.contains(&View::Ranks) && !page.contains(&View::Races));
    }

    #[test]
    fn reports_exist_and_keys_and_places_are_unique() {
        let (mut keys, mut places, mut names) = (HashSet::new(), HashSet::new(), HashSet::new());
        for view in View::ALL {
            let Row { content, page, .. } = view.row();
            if let Reports(all) = content {
                assert!(all.iter().all(|name| Report::by_name(name).is_some()));
            }
            assert!(view.key().is_none_or(|key| keys.insert(key)), "{view:?}");
            assert!(page.is_none_or(|place| places.insert(place)), "{view:?}");
            assert!(names.insert(view.name()), "{view:?}");
        }
    }
}

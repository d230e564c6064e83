//! What the kernel counted for each thread: page faults, switches, migrations, CPUs.

use std::collections::BTreeSet;

use experiment::header::Header;
use experiment::ids::ThreadId;
use experiment::losses::LossKind;
use experiment::rows::FAULTS_EACH;
use omp_model::metrics::Metric;
use omp_model::views::threads::{ThreadRow, kind_name, threads};
use serde_json::{Map, Value as Json, json};

use crate::document::{InJson, Line, Table, Value};
use crate::list::{self, Field};
use crate::query::{Query, Source};
use crate::threads::kernel_number;

/// A thread and its counts; `None` where they are not known.
struct Used {
    row: ThreadRow,
    user: Option<f64>,
    system: Option<f64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    voluntary: Option<u64>,
    involuntary: Option<u64>,
    migrations: Option<u64>,
    cpus: BTreeSet<u16>,
    nodes: Option<BTreeSet<u32>>,
}

/// The threads of a source; none where the kernel counted nothing.
fn used(source: &Source<'_>) -> Vec<Used> {
    let experiment = &source.analysis.experiment;
    if experiment.cpu_uses.is_empty() {
        return Vec::new();
    }
    let header = &experiment.header;
    let by_sample = source.analysis.available().has(Metric::System);
    let metrics = [Metric::User, Metric::System];
    let rows = threads(source.profile(), &experiment.tables, &metrics);
    let of = |row: ThreadRow| {
        let mut sums = [0; 5];
        let mut cpus = BTreeSet::new();
        let own = |thread: ThreadId| thread == row.thread;
        for it in experiment.cpu_uses.iter().filter(|it| own(it.thread)) {
            let counts = [
                it.minor_faults,
                it.major_faults,
                it.voluntary,
                it.involuntary,
                it.migrations,
            ];
            sums.iter_mut().zip(counts).for_each(|(sum, it)| *sum += it);
            cpus.insert(it.cpu);
        }
        let known = |count: u64, is_known: bool| is_known.then_some(count);
        let sampling = &header.sampling;
        Used {
            user: by_sample.then_some(row.seconds[0]),
            system: by_sample.then_some(row.seconds[1]),
            minor_faults: known(sums[0], sampling.minor_faults),
            major_faults: known(sums[1], sampling.major_faults),
            voluntary: known(sums[2], sampling.switches),
            involuntary: known(sums[3], sampling.switches),
            migrations: known(sums[4], sampling.switches),
            nodes: nodes_of(header, &cpus),
            cpus,
            row,
        }
    };
    rows.into_iter().map(of).collect()
}

/// The NUMA nodes of CPUs; `None` on a machine with one.
fn nodes_of(header: &Header, cpus: &BTreeSet<u16>) -> Option<BTreeSet<u32>> {
    let has = |of_node: &[u32]| cpus.iter().any(|&cpu| of_node.contains(&u32::from(cpu)));
    let nodes = header.numa_nodes.iter();
    let used = nodes.filter(|(_, cpus)| has(cpus)).map(|(node, _)| *node);
    (!header.numa_nodes.is_empty()).then(|| used.collect())
}

/// Numbers in the kernel's manner: `0-3,8`.
fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): (u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    let ranges: Vec<String> = ranges.into_iter().map(range).collect();
    ranges.join(",")
}

/// The threads as a table of a text, with what its numbers are, and as JSON; `None` where the kernel
/// counted nothing.
pub(crate) fn by_thread(query: &Query<'_>) -> Option<(Table, Vec<Line>, Map<String, Json>)> {
    let used = used(&query.all);
    if used.is_empty() {
        return None;
    }
    let more = Map::from_iter([("threads".to_owned(), used.iter().map(json).collect())]);
    let text = |words: String| {
        if words.is_empty() {
            Value::Absent
        } else {
            Value::Text(words)
        }
    };
    let count = |id, heading, value: fn(&Used) -> Option<u64>| {
        Field::fact(id, heading, move |it: &Used| Value::counted(value(it)))
    };
    let time = |id, heading, value: fn(&Used) -> Option<f64>| {
        Field::fact(id, heading, move |it: &Used| Value::known(value(it)))
    };
    let mut fields = vec![
        Field::fact("tid", "Thread", |it: &Used| kernel_number(it.row.tid)),
        Field::fact("kind", "Kind", |it: &Used| {
            Value::Text(kind_name(it.row.kind).to_owned())
        }),
        time("user", "User", |it| it.user),
        time("system", "System", |it| it.system),
        count("minor_faults", "Minor faults", |it| it.minor_faults),
        count("major_faults", "Major faults", |it| it.major_faults),
        count("voluntary", "Voluntary", |it| it.voluntary),
        count("involuntary", "Involuntary", |it| it.involuntary),
        count("migrations", "Migrations", |it| it.migrations),
        Field::fact("cpus", "CPUs", move |it: &Used| {
            text(list(it.cpus.iter().map(|&cpu| u32::from(cpu))))
        }),
    ];
    if used.iter().any(|it| it.nodes.is_some()) {
        fields.push(Field::fact("nodes", "Nodes", move |it: &Used| {
            text(list(it.nodes.iter().flatten().copied()))
        }));
    }
    let fields = fields.into_iter().map(|it| it.json(InJson::Nowhere));
    let joined = list::by_name(query, vec![used], |it| it.row.tid.to_string());
    let table = list::table(query, &joined, fields.collect());
    let header = &query.all.analysis.experiment.header;
    let mut said = vec![Line::plain(format!(
        "User and System: seconds on CPUs, which of both by samples. Minor faults: by samples of \
         {FAULTS_EACH}; a thread with fewer shows none. Voluntary, Involuntary: switches to wait and \
         by preemption"
    ))];
    if header.losses.lost.of(LossKind::SideBand).is_some() {
        said.push(Line::plain(
            "Records of switches were lost: there were at least so many, and page faults are not known",
        ));
    }
    Some((table, said, more))
}

fn json(it: &Used) -> Json {
    json!({
        "thread": it.row.thread.0 + 1,
        "pid": it.row.pid,
        "tid": it.row.tid,
        "kind": kind_name(it.row.kind),
        "user": it.user,
        "system": it.system,
        "minor_faults": it.minor_faults,
        "major_faults": it.major_faults,
        "voluntary_switches": it.voluntary,
        "involuntary_switches": it.involuntary,
        "migrations": it.migrations,
        "cpus": it.cpus,
        "numa_nodes": it.nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_as_the_kernel_lists_them() {
        assert_eq!(list([0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(list([]), "");
    }

    #[test]
    fn nodes_are_known_where_there_are_several() {
        let cpus = BTreeSet::from([1, 5]);
        assert_eq!(nodes_of(&Header::default(), &cpus), None);
        let header = Header {
            numa_nodes: vec![(0, vec![0, 1]), (1, vec![2, 3]), (3, vec![4, 5])],
            ..Header::default()
        };
        assert_eq!(nodes_of(&header, &cpus), Some(BTreeSet::from([0, 3])));
    }
}

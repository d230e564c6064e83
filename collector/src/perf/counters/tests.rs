use super::*;

const USER: Situation = Situation {
    paranoid: Some(2),
    root: false,
};

/// A PMU as the kernel describes Intel's.
fn pmu(path: &str) -> Option<String> {
    let text = match path {
        "cpu/type" => "4\n",
        "cpu/format/event" => "config:0-7,32-35\n",
        "cpu/format/umask" => "config:8-15\n",
        "cpu/format/edge" => "config:18\n",
        "cpu/format/offcore_rsp" => "config1:0-63\n",
        "cpu/events/cpu-cycles" => "event=0x3c\n",
        "cpu/events/mem-loads" => "event=0xcd,umask=0x1,edge\n",
        _ => return None,
    };
    Some(text.to_owned())
}

fn counters(arguments: &[&str]) -> Vec<(String, u64)> {
    let parsed = parse(arguments.iter().copied(), pmu).unwrap();
    parsed
        .into_iter()
        .map(|it| (it.name, it.interval))
        .collect()
}

fn mistake(argument: &str) -> String {
    let said = parse([argument], pmu).expect_err(argument);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("-h "), "{said}");
    said
}

fn event(name: &str) -> Event {
    parse([name], pmu).unwrap()[0].event
}

#[test]
fn names_have_intervals_of_their_own_or_the_usual_ones() {
    let named = |name: &str, interval| (name.to_owned(), interval);
    assert_eq!(
        counters(&["cycles,hi,page-faults", "LLC-load-misses,777,cs,lo"]),
        [
            named("cycles", 2_000_003),
            named("page-faults", 101),
            named("LLC-load-misses", 777),
            named("context-switches", 101),
        ]
    );
    // An empty interval is the default, as gprofng has it.
    assert_eq!(
        counters(&["instructions,,cpu/event=0x3c,umask=1/,on,r01c2"]),
        [
            named("instructions", 20_000_003),
            named("cpu/event=0x3c,umask=1/", 200_003),
            named("r01c2", 200_003),
        ]
    );
    assert_eq!(counters(&["task-clock"]), [named("task-clock", 10_007_000)]);
}

#[test]
fn every_name_can_be_a_metric_s_and_no_two_are_the_same_event() {
    let all = known();
    for (at, one) in all.iter().enumerate() {
        assert!(Counted::is_name(&one.name), "{}", one.name);
        assert_eq!(event(&one.name), one.event);
        let same = |other: &Known| other.event == one.event || other.name == one.name;
        assert!(!all[..at].iter().any(same), "{}", one.name);
        let Intervals { hi, on, lo } = one.intervals;
        assert!(hi <= on && on <= lo);
    }
    for name in ["cpu/event=0x3c,umask=1/", "r01c2"] {
        assert!(Counted::is_name(name));
    }
    assert_eq!(event("cpu-cycles"), event("cycles"));
}

#[test]
fn cache_events_are_numbered_as_the_kernel_does() {
    let config = |name| (event(name).pmu, event(name).config[0]);
    assert_eq!(config("L1-dcache-loads"), (3, 0));
    assert_eq!(config("LLC-load-misses"), (3, 2 | 1 << 16));
    assert_eq!(config("dTLB-store-misses"), (3, 3 | 1 << 8 | 1 << 16));
    assert_eq!(config("node-prefetches"), (3, 6 | 2 << 8));
}

#[test]
fn raw_events_are_taken_from_the_bits_that_the_pmu_s_files_say() {
    let raw = |config| Event { pmu: 4, config };
    assert_eq!(event("r1a8"), raw([0x1a8, 0, 0]));
    assert_eq!(event("cpu/event=0x3c,umask=2/"), raw([0x23c, 0, 0]));
    // Bits that do not lie side by side.
    assert_eq!(event("cpu/event=0xa3c/"), raw([0xa << 32 | 0x3c, 0, 0]));
    assert_eq!(event("cpu/mem-loads/"), raw([1 << 18 | 0x1cd, 0, 0]));
    assert_eq!(
        event("cpu/event=0xb7,umask=1,offcore_rsp=0xffffffffffffffff/"),
        raw([0x1b7, u64::MAX, 0])
    );
    assert_eq!(event("cpu/config=0x1234,config2=7/"), raw([0x1234, 0, 7]));
}

#[test]
fn mistakes_are_told_in_one_sentence() {
    assert_eq!(
        mistake("cache-mises"),
        "-h cache-mises: there is no event of that name (did you mean \"cache-misses\"?); `collect -h` lists \
         those of this machine"
    );
    assert!(mistake("./a.out").contains("no event of that name;"));
    assert!(mistake("hi").contains("expected the name of an event before \"hi\""));
    assert!(mistake("cycles,hi,7").contains("before \"7\""));
    assert!(mistake("").contains("expected the name"));
    assert!(mistake("cycles,cpu-cycles").contains("asked for twice"));
    let long = format!("cpu/config=0x{:0200}/", 1);
    assert!(mistake(&long).contains("at most 128 letters"));
    assert!(mistake("cycles,0").contains("between 1 and"));
    assert!(mistake("cycles,99999999999999999999").contains("between 1 and"));
    assert!(mistake("task-clock,1000").contains("between 50000 and"));
    assert!(mistake("uncore/event=1/").contains("no PMU \"uncore\""));
    assert!(mistake("../cpu/event=1/").contains("no event of that name"));
    assert!(mistake("cpu/event=1").contains("no \"/\" at its end"));
    assert!(mistake("cpu/umask=0x100/").contains("0x100 is too large for \"umask\" (config:8-15)"));
    assert!(mistake("cpu/nothing=1/").contains("has no term \"nothing\""));
    assert!(mistake("cpu/event=x/").contains("no number"));
    assert!(mistake("r+1").contains("no event of that name"));
}

#[test]
fn counts_are_scaled_by_the_time_that_the_event_was_not_counted() {
    let on = |events, counted, ran| OnCpu {
        events,
        counted,
        ran,
    };
    assert_eq!(scaled([on(500, 1_000_000, 1_000_000)]), (500, 1.0));
    // Read one after the other.
    assert_eq!(scaled([on(500, 995_000, 1_000_000)]), (500, 1.0));
    assert_eq!(scaled([on(500, 1_005_000, 1_000_000)]), (500, 1.0));
    // A quarter of the time on one CPU, three quarters on the other.
    let both = [on(100, 250_000, 1_000_000), on(300, 750_000, 1_000_000)];
    assert_eq!(scaled(both), (800, 0.5));
    // A CPU that no thread ran on.
    assert_eq!(scaled([both[0], both[1], on(0, 0, 0)]), (800, 0.5));
    // It never had its turn: nothing is known.
    assert_eq!(scaled([on(0, 0, 1_000_000)]), (0, 1.0));
    assert_eq!(scaled([]), (0, 1.0));
    let (huge, part) = scaled([on(u64::MAX, 1, u64::MAX)]);
    assert_eq!(huge, u64::MAX);
    assert!(part < 1e-9);
}

#[test]
fn a_refusal_names_the_event_and_the_remedy() {
    let counter = |name: &str| parse([name], pmu).unwrap().remove(0);
    let said = |name, errno| refused(&counter(name), errno, USER).0;
    assert_eq!(
        said("cycles", libc::ENOENT),
        "-h cycles: this machine's processor, or the virtual machine, does not count it; `collect -h` \
         lists what this machine counts"
    );
    let forbidden = said("page-faults", libc::EACCES);
    assert!(
        forbidden.contains("perf_event_paranoid is 2"),
        "{forbidden}"
    );
    assert!(forbidden.contains("`sysctl kernel.perf_event_paranoid=1`"));
    assert!(said("context-switches", libc::EACCES).contains("counted in the kernel"));
    assert!(counter("cs").is_of_the_kernel() && !counter("page-faults").is_of_the_kernel());
    assert!(said("cycles", libc::EMFILE).contains("ulimit -n"));
}

#[test]
fn the_list_tells_what_there_is_and_why_the_rest_is_not() {
    let open = |counter: &Counter| match counter.event.pmu {
        SOFTWARE => Ok(()),
        _ => Err(libc::ENOENT),
    };
    let text = list(open, USER);
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert_eq!(
        line("page-faults").split_whitespace().collect::<Vec<_>>(),
        ["page-faults", "101", "11", "1009"]
    );
    assert!(line("task-clock").ends_with("nanoseconds"));
    let (_, missing) = text
        .split_once("Not available (this machine's processor")
        .unwrap();
    assert!(missing.contains(" cycles ") && missing.contains(" LLC-load-misses"));
    assert!(!missing.contains("page-faults"));
    assert!(text.lines().all(|line| line.len() < 100), "{text}");
}

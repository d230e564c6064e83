//! Records built by hand after `include/uapi/linux/perf_event.h`.

use processes::records::Mapping;
use processes::records::kind::{COMM, FORK, MMAP2, SWITCH};

use super::*;

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(misc.to_le_bytes());
    bytes.extend((body.len() as u16 + 8).to_le_bytes());
    bytes.extend(body);
    bytes
}

fn words(values: &[u64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// pid, tid, time, cpu.
fn sample_id(pid: u32, tid: u32, time: u64) -> Vec<u8> {
    words(&[pair(pid, tid), time, 3])
}

fn side(bytes: &[u8]) -> SideRecord {
    match from_side_band(bytes) {
        FromSideBand::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sample_s_registers_and_stack_are_found_behind_the_kernel_s_chain() {
    let mut body = words(&[0xffff_ffff_8100_0000, pair(7, 8), 99, 5]);
    // PERF_CONTEXT_KERNEL, two addresses.
    body.extend(words(&[
        3,
        -128_i64 as u64,
        0xffff_ffff_8100_0000,
        0xffff_ffff_8100_0010,
    ]));
    body.extend(words(&[ABI_64]));
    body.extend(words(&(100..117).collect::<Vec<u64>>()));
    body.extend(words(&[16, 0x1111, 0x2222, 8]));
    let bytes = record(SAMPLE, MISC_KERNEL, &body);

    assert_eq!(sample_time(&bytes), Some(99));
    let FromSamples::Sample(sample) = from_samples(&bytes) else {
        panic!("a sample")
    };
    assert_eq!(
        (sample.pid, sample.tid, sample.time, sample.cpu),
        (7, 8, 99, 5)
    );
    assert!(sample.in_kernel);
    let chain: Vec<u64> = sample.kernel_chain().collect();
    assert_eq!(chain, [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010]);
    let user = sample.user.expect("user registers");
    assert_eq!(
        (user.regs.ip(), user.regs.sp(), user.regs.bp()),
        (108, 107, 106)
    );
    assert_eq!(user.regs.get(Register::Rbx), Some(101));
    assert_eq!(user.regs.get(Register::R8), Some(109));
    assert_eq!(user.regs.get(Register::R15), Some(116));
    assert_eq!(user.stack, 0x1111_u64.to_le_bytes());
}

#[test]
fn a_sample_without_user_registers_has_no_user_half() {
    let body = words(&[1, pair(7, 8), 99, 5, 0, 0, 0]);
    let bytes = record(SAMPLE, 2, &body);
    let FromSamples::Sample(sample) = from_samples(&bytes) else {
        panic!("a sample")
    };
    assert!(sample.user.is_none() && !sample.in_kernel);
    assert_eq!(sample.kernel_chain().count(), 0);
}

#[test]
fn a_switch_out_says_whether_the_thread_wanted_to_go_on() {
    let id = sample_id(1, 2, 50);
    let what = |misc| side(&record(SWITCH, misc, &id)).what;
    assert_eq!(what(0), Side::SwitchIn);
    assert_eq!(what(1 << 13), Side::SwitchOut { preempted: false });
    assert_eq!(what(1 << 13 | 1 << 14), Side::SwitchOut { preempted: true });
    let record = side(&record(SWITCH, 0, &id));
    assert_eq!((record.pid, record.tid, record.time), (1, 2, 50));
}

#[test]
fn a_fork_names_the_child_and_its_sample_id_the_parent() {
    let mut body = words(&[pair(20, 10), pair(21, 11), 777]);
    body.extend(sample_id(10, 11, 60));
    let record = side(&record(FORK, 0, &body));
    assert_eq!((record.pid, record.tid, record.time), (20, 21, 60));
    assert_eq!(
        record.what,
        Side::Fork {
            parent: 10,
            creator: 11
        }
    );
}

#[test]
fn an_exec_is_told_from_a_new_name() {
    let mut body = words(&[pair(5, 6)]);
    body.extend(b"app\0\0\0\0\0");
    body.extend(sample_id(5, 6, 70));
    for (misc, exec) in [(0, false), (1 << 13, true)] {
        let record = side(&record(COMM, misc, &body));
        assert_eq!(
            record.what,
            Side::Comm {
                exec,
                name: "app".into()
            }
        );
    }
}

#[test]
fn a_mapping_has_its_build_id_or_its_inode() {
    let mut body = words(&[pair(5, 6), 0x4000, 0x1000, 0x2000]);
    let mut identity = vec![4, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef];
    identity.resize(24, 0);
    body.extend(identity);
    body.extend(words(&[pair(5, 2)]));
    body.extend(b"/bin/app\0\0\0\0\0\0\0\0");
    body.extend(sample_id(5, 6, 80));
    let inode = 0x1234;
    body[40..48].copy_from_slice(&u64::to_le_bytes(inode));
    for (misc, inode, build_id) in [
        (0, inode, vec![]),
        (1 << 14, 0, vec![0xde, 0xad, 0xbe, 0xef]),
    ] {
        let record = side(&record(MMAP2, misc, &body));
        let expected = Mapping {
            start: 0x4000,
            length: 0x1000,
            offset: 0x2000,
            path: b"/bin/app".as_slice().into(),
            inode,
            build_id: build_id.into(),
        };
        assert_eq!(record.what, Side::Map(Box::new(expected)));
    }
}

#[test]
fn a_sampled_page_fault_has_its_thread_and_cpu() {
    let found = side(&record(SAMPLE, 0, &sample_id(5, 6, 80)));
    assert_eq!((found.pid, found.tid, found.cpu), (5, 6, 3));
    assert_eq!((found.time, found.what), (80, Side::MinorFaults));
}

#[test]
fn losses_are_counted_in_both_kinds_of_ring() {
    let mut body = words(&[1, 42]);
    body.extend(sample_id(5, 6, 80));
    let bytes = record(LOST, 0, &body);
    let expected = Lost {
        count: 42,
        time: 80,
    };
    assert_eq!(from_side_band(&bytes), FromSideBand::Lost(expected));
    assert!(matches!(from_samples(&bytes), FromSamples::Lost(lost) if lost == expected));
    // LOST_SAMPLES names no event.
    let bytes = record(
        LOST_SAMPLES,
        0,
        &[words(&[42]), sample_id(5, 6, 80)].concat(),
    );
    assert_eq!(from_side_band(&bytes), FromSideBand::Lost(expected));
    assert!(matches!(from_samples(&bytes), FromSamples::Lost(lost) if lost == expected));
}

#[test]
fn records_cut_anywhere_are_read_without_panic() {
    let mut body = words(&[1, pair(7, 8), 99, 5, u64::MAX, 1, 2]);
    body.extend(sample_id(5, 6, 80));
    for kind in 0..22 {
        let whole = record(kind, 0xffff, &body);
        for length in 0..=whole.len() {
            let _ = from_side_band(&whole[..length]);
            let _ = sample_time(&whole[..length]);
            if let FromSamples::Sample(sample) = from_samples(&whole[..length]) {
                let _ = sample.kernel_chain().count();
            }
        }
    }
}

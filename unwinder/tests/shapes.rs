//! Stacks of real programs, unwound from recorded registers and stack bytes.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod capture;

use capture::{Recording, Sample, record};
use unwinder::{AddressSpace, CutReason, Ending, StackBytes, UnwindCache};

const AVX: &str = "-O3 -mavx2";
/// The ways to build that change how frames look.
const BUILDS: [&str; 5] = ["-O2", "-O0", AVX, "-O2 -static", "-O2 -static-pie"];

/// The builds that this processor can run.
fn builds() -> impl Iterator<Item = &'static str> {
    BUILDS
        .into_iter()
        .filter(|&build| build != AVX || is_x86_feature_detected!("avx2"))
}

/// The frames above `main`, from the record that the program takes before the shape runs.
fn above_main(recording: &Recording) -> Vec<u64> {
    let first = recording
        .samples
        .iter()
        .find(|sample| sample.tag == 1)
        .expect("a first record");
    let (frames, ending) = recording.unwind(first);
    assert_eq!(ending, Ending::Complete, "{frames:x?}");
    // snap_here, main, __libc_start_call_main, __libc_start_main, _start.
    assert_eq!(frames.len(), 5, "{frames:x?}");
    frames[2..].to_vec()
}

fn describe(recording: &Recording, sample: &Sample, frames: &[u64], ending: Ending) -> String {
    let place = |&address: &u64| match recording.space.locate(address) {
        None => format!("  {address:x}"),
        Some((module, svma)) => {
            let module = recording.space.module(module).expect("located");
            format!("  {address:x} = {svma:x} in {}", module.path.display())
        }
    };
    let places: Vec<String> = frames.iter().map(place).collect();
    format!("{ending:?} {:x?}\n{}", sample.regs, places.join("\n"))
}

/// Every recorded instruction of a shape has a complete stack that goes through `main`.
fn every_instruction_reaches_main(shape: &str, at_least: usize) {
    for build in builds() {
        let recording = record(build, shape);
        let expected = above_main(&recording);
        let mut cache = UnwindCache::new();
        let mut frames = Vec::new();
        let mut count = 0;
        for sample in recording.within() {
            frames.clear();
            let ending =
                recording
                    .space
                    .unwind(&mut cache, &sample.regs, &sample.bytes(), &mut frames);
            let good = ending == Ending::Complete && frames.ends_with(&expected);
            assert!(
                good,
                "{shape} {build}, record {count}: {}",
                describe(&recording, sample, &frames, ending)
            );
            count += 1;
        }
        assert!(count >= at_least, "{shape} {build}: {count} records");
    }
}

#[test]
fn realigned_frames_do_not_cut_the_stack() {
    every_instruction_reaches_main("realigned", 500);
}

#[test]
fn frames_with_vectors_do_not_cut_the_stack() {
    every_instruction_reaches_main("vectors", 100);
}

#[test]
fn recursion_is_followed_from_every_instruction() {
    every_instruction_reaches_main("shallow", 150);
}

#[test]
fn qsort_and_its_callback_are_followed() {
    every_instruction_reaches_main("qsort", 150);
}

#[test]
fn a_signal_handler_stands_on_the_code_that_it_interrupted() {
    every_instruction_reaches_main("signal", 50);
}

#[test]
fn the_vdso_is_followed() {
    every_instruction_reaches_main("clocks", 20);
}

#[test]
fn plt_stubs_and_the_lazy_resolver_are_followed() {
    every_instruction_reaches_main("library", 50);
}

#[test]
fn a_thread_ends_in_its_first_function_and_not_in_main() {
    for build in builds() {
        let recording = record(build, "thread");
        let mut roots: Vec<Vec<u64>> = Vec::new();
        for sample in recording.within() {
            let (frames, ending) = recording.unwind(sample);
            let said = describe(&recording, sample, &frames, ending);
            assert_eq!(ending, Ending::Complete, "{build}: {said}");
            // thread_main, start_thread, clone3.
            roots.push(frames[frames.len() - 2..].to_vec());
        }
        roots.dedup();
        assert_eq!(roots.len(), 1, "{build}: {roots:x?}");
    }
}

#[test]
fn a_caller_is_told_from_another_by_its_call() {
    let recording = record("-O0", "shallow");
    let (mut right, mut wrong) = (0, 0);
    for sample in recording.within() {
        let (frames, _) = recording.unwind(sample);
        let space = &recording.space;
        for three in frames.windows(3) {
            let [callee, caller, outer] = three else {
                unreachable!("windows of three")
            };
            assert!(space.may_call(*caller, *callee), "{frames:x?}");
            right += 1;
            let other = space.function_at(*callee) != space.function_at(*caller - 1);
            let direct = space.may_call(*outer, *caller) && !space.may_call(*outer, *callee);
            wrong += usize::from(other && direct);
        }
    }
    assert!(right > 300 && wrong > 100, "{right} right, {wrong} wrong");
}

/// The one record of a shape that does not step.
fn only_sample(recording: &Recording) -> &Sample {
    let samples: Vec<&Sample> = recording.within().collect();
    assert_eq!(samples.len(), 1);
    samples[0]
}

#[test]
fn recursion_beyond_the_dump_is_cut_and_keeps_its_frames() {
    for build in builds() {
        let recording = record(build, "deep");
        let (frames, ending) = recording.unwind(only_sample(&recording));
        assert_eq!(ending, Ending::Cut(CutReason::DumpTooSmall), "{build}");
        assert!(frames.len() > 100, "{build}: {} frames", frames.len());
    }
}

#[test]
fn a_handler_on_another_stack_is_cut_where_the_dump_ends() {
    for build in builds() {
        let recording = record(build, "altstack");
        let sample = only_sample(&recording);
        let (frames, ending) = recording.unwind(sample);
        let said = describe(&recording, sample, &frames, ending);
        assert_eq!(
            ending,
            Ending::Cut(CutReason::DumpTooSmall),
            "{build}: {said}"
        );
        // snap_here, on_signal, the trampoline, and the interrupted function's ip, which the
        // signal frame holds; its caller is on the other stack.
        assert_eq!(frames.len(), 4, "{build}: {said}");
    }
}

#[test]
fn hand_written_code_is_passed_where_a_call_proves_the_guess() {
    for shape in ["asm_leaf", "asm_framed"] {
        for build in builds() {
            let recording = record(build, shape);
            let expected = above_main(&recording);
            let sample = only_sample(&recording);
            let (frames, ending) = recording.unwind(sample);
            let said = describe(&recording, sample, &frames, ending);
            assert_eq!(ending, Ending::Complete, "{shape} {build}: {said}");
            assert_eq!(frames.len(), 2 + expected.len(), "{shape} {build}: {said}");
            assert!(frames.ends_with(&expected), "{shape} {build}: {said}");
        }
    }
}

#[test]
fn hand_written_code_is_passed_by_what_its_functions_begin_with() {
    for build in builds() {
        let recording = record(build, "asm_kernel");
        let expected = above_main(&recording);
        // In the function that the kernel calls, and in the kernel.
        let depths = recording.within().map(|sample| {
            let (frames, ending) = recording.unwind(sample);
            let said = describe(&recording, sample, &frames, ending);
            assert_eq!(ending, Ending::Complete, "{build}: {said}");
            assert!(frames.ends_with(&expected), "{build}: {said}");
            frames.len() - expected.len()
        });
        // main is above either.
        assert_eq!(depths.collect::<Vec<_>>(), [3, 2], "{build}");
    }
}

#[test]
fn empty_entries_at_the_same_address_do_not_hide_a_function_s_rules() {
    for build in builds() {
        let recording = record(build, "after_empty");
        let expected = above_main(&recording);
        let sample = only_sample(&recording);
        let (frames, ending) = recording.unwind(sample);
        let said = describe(&recording, sample, &frames, ending);
        assert_eq!(ending, Ending::Complete, "{build}: {said}");
        assert_eq!(frames.len(), 2 + expected.len(), "{build}: {said}");
        assert!(frames.ends_with(&expected), "{build}: {said}");
    }
}

#[test]
fn hand_written_code_that_hides_its_caller_is_not_called_complete() {
    for build in builds() {
        let recording = record(build, "asm_opaque");
        let sample = only_sample(&recording);
        let (frames, ending) = recording.unwind(sample);
        let at = sample.regs.ip();
        assert_eq!(
            ending,
            Ending::Cut(CutReason::NoUnwindInfo { at }),
            "{build}"
        );
        assert_eq!(frames, [at], "{build}");
    }
}

#[test]
fn an_overwritten_return_address_is_not_called_complete() {
    for build in builds() {
        let recording = record(build, "smashed");
        let (frames, ending) = recording.unwind(only_sample(&recording));
        assert_eq!(
            ending,
            Ending::Cut(CutReason::NoModule { at: 0x1234 }),
            "{build}"
        );
        assert_eq!(frames.len(), 2, "{build}");
    }
}

#[test]
fn an_empty_dump_and_an_empty_space_give_the_leaf_and_a_reason() {
    let recording = record("-O2", "asm_leaf");
    let sample = only_sample(&recording);
    let mut frames = Vec::new();
    let mut cache = UnwindCache::new();
    let nothing = StackBytes {
        sp: sample.regs.sp(),
        bytes: &[],
        beyond: None,
    };
    let first = recording.samples.first().expect("a record");
    let ending = recording
        .space
        .unwind(&mut cache, &first.regs, &nothing, &mut frames);
    assert_eq!(
        (frames.len(), ending),
        (1, Ending::Cut(CutReason::DumpTooSmall))
    );
    frames.clear();
    let ending = AddressSpace::new().unwind(&mut cache, &sample.regs, &sample.bytes(), &mut frames);
    let at = sample.regs.ip();
    assert_eq!(
        (&frames[..], ending),
        (&[at][..], Ending::Cut(CutReason::NoModule { at }))
    );
}

#[test]
fn the_leaf_s_other_registers_are_only_needed_where_the_frame_hangs_on_them() {
    let recording = record("-O2", "realigned");
    let bare = |sample: &Sample| Sample {
        tag: sample.tag,
        regs: unwinder::Regs::new(sample.regs.ip(), sample.regs.sp(), sample.regs.bp()),
        stack: sample.stack.clone(),
    };
    let endings: Vec<Ending> = recording
        .within()
        .map(|sample| recording.unwind(&bare(sample)).1)
        .collect();
    let complete = endings
        .iter()
        .filter(|&&ending| ending == Ending::Complete)
        .count();
    let lacking = endings
        .iter()
        .filter(|ending| matches!(ending, Ending::Cut(CutReason::NoUnwindInfo { .. })))
        .count();
    assert_eq!(complete + lacking, endings.len(), "{endings:?}");
    assert!(
        lacking > 0 && lacking * 10 < endings.len(),
        "{lacking} of {}",
        endings.len()
    );
}

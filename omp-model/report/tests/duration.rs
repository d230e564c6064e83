//! How long an experiment was recorded, where its header knows and where it does not.

use experiment::header::Header;
use experiment::ids::Nanos;
use report::header::duration;

#[test]
fn what_the_header_does_not_know_is_told_by_the_last_record() {
    let header = |duration_ns| Header {
        duration_ns,
        ..Header::default()
    };
    let last = Some(Nanos(3_149_000_000));
    assert_eq!(duration(&header(2_200_000_000), last), "2.200 seconds");
    assert_eq!(
        duration(&header(0), last),
        "3.149 seconds up to the last record (it was not finished)"
    );
    assert_eq!(
        duration(&header(0), None),
        "not known before it is read (it was not finished)"
    );
}

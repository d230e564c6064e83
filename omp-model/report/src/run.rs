//! Remarks on a run, and its date.

use omp_model::cpu_samples::CpuSamples;
use omp_model::views::warnings::{first_touch, warnings};

use crate::query::Source;

impl Source<'_> {
    /// The recorder's notes, the cost of spinning and far memory, for which each sample is read.
    pub fn remarks(&self) -> Vec<String> {
        let experiment = &self.analysis.experiment;
        let on_cpus = CpuSamples::of(&experiment.samples);
        let spins = warnings(
            &experiment.tables,
            &experiment.sums,
            &on_cpus,
            &experiment.header,
        );
        let far = first_touch(&experiment.cpu_uses, &on_cpus, &experiment.header);
        let found = spins.iter().chain(&far);
        let notes = experiment.header.notes.iter().cloned();
        notes.chain(found.map(ToString::to_string)).collect()
    }
}

/// Seconds since 1970 as a date and time in UTC (Howard Hinnant's civil_from_days).
pub fn calendar(unix: f64) -> String {
    let seconds = unix.max(0.0) as i64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

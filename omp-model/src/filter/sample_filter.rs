//! Which samples a filter keeps, for formats that show each of them.

use experiment::rows::Sample;

use super::expression::Filter;
use super::time_point::TimePoint;
use super::weigh::{Source, Weigher};
use crate::profile::{Item, Profile};

/// A filter, ready to be asked about single samples.
pub struct SampleFilter<'a>(Weigher<'a>);

impl<'a> SampleFilter<'a> {
    /// `profile` has the items about whose samples it will be asked.
    pub fn new(filter: &'a Filter, profile: &Profile, source: &Source<'a>) -> SampleFilter<'a> {
        SampleFilter(Weigher::new(filter, profile, source))
    }

    /// Whether the filter keeps a sample of an item.
    pub fn keeps(&self, item: &Item, sample: &Sample) -> bool {
        self.0.keeps(item, TimePoint::of_sample(sample)) == Some(true)
    }
}

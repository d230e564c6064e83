//! The times of a function's instructions in each of the experiments that are compared.

use std::collections::HashMap;

use experiment::symbols::{Function, FunctionId};
use experiment::tables::Module;
use omp_model::views::annotated::LineTimes;
use omp_model::views::names::base_name;

use super::{Code, Listing};
use crate::query::{Query, Source};

/// The times of a function's instructions, by address.
pub(super) type Instructions = HashMap<u64, LineTimes>;

/// The times by experiment; a sentence if one ran another build of the load object, whose addresses
/// are of other instructions. `function` is that of all experiments together.
pub(super) fn times(
    query: &Query<'_>,
    function: FunctionId,
    code: &Code,
) -> Result<Vec<Instructions>, String> {
    let names = query.all.names();
    let function = &names.symbols.functions[function.0 as usize];
    let module = names.tables.modules.get(function.module.0);
    let object = module.map_or("", |module| base_name(&module.path));
    let Some(module) = module.filter(|module| !module.build_id.is_empty()) else {
        return Err(format!(
            "not compared: {object} has no build id, so which builds ran is not known"
        ));
    };
    let of_side = |(source, number): (&Source<'_>, usize)| {
        let names = source.names();
        let modules = &names.tables.modules;
        let is_same = |known: &Function| {
            let own = modules.get(known.module.0);
            let is_built = own.is_some_and(|own| own.build_id == module.build_id);
            is_built && known.address == function.address
        };
        let mut functions = (0..).map(FunctionId).zip(&names.symbols.functions);
        if let Some((own, _)) = functions.find(|(_, known)| is_same(known)) {
            let listing = Listing::new(
                source.profile(),
                &names,
                &query.request,
                own,
                &code.instructions,
            );
            let rows = listing.rows.into_iter();
            let timed = rows.filter_map(|row| Some((row.address, row.times?)));
            return Ok(timed.collect());
        }
        // Nothing of it was seen, or of another build.
        let is_other =
            |own: &Module| base_name(&own.path) == object && own.build_id != module.build_id;
        if modules.rows().iter().any(is_other) {
            Err(format!(
                "not compared: experiment ({number}) ran another build of {object}"
            ))
        } else {
            Ok(Instructions::default())
        }
    };
    query.sides().iter().zip(1..).map(of_side).collect()
}

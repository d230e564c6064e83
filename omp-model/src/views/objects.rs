//! The list of load objects.

use experiment::ids::ModuleId;
use experiment::symbols::SymbolTable;
use experiment::tables::{RuntimeKind, Tables};

/// A load object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// Its number: addresses are shown as `number:offset`.
    pub module: ModuleId,
    /// Its path; empty for code outside of all load objects.
    pub path: String,
    /// The GNU build id in hexadecimal; empty if there is none.
    pub build_id: String,
    /// Its role in OpenMP.
    pub runtime: RuntimeKind,
    /// Number of its functions in the experiment.
    pub functions: usize,
    /// Why its symbols are missing, if they are.
    pub missing: Option<String>,
}

/// Every load object, by number.
pub fn objects(tables: &Tables, symbols: &SymbolTable) -> Vec<ObjectRow> {
    let mut functions = vec![0; tables.modules.len()];
    for function in &symbols.functions {
        if let Some(count) = functions.get_mut(function.module.index()) {
            *count += 1;
        }
    }
    let missing = |id| symbols.misses.iter().find(|(module, _)| *module == id);
    let ids = (0..).map(ModuleId);
    ids.zip(tables.modules.rows().iter().zip(functions))
        .map(|(module, (row, functions))| ObjectRow {
            module,
            path: row.path.clone(),
            build_id: row.build_id.clone(),
            runtime: row.runtime,
            functions,
            missing: missing(module).map(|(_, why)| why.clone()),
        })
        .collect()
}

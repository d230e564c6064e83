//! `pcs`, `psummary`: instructions by their addresses.

use omp_model::views::List;
use omp_model::views::annotated::pcs as view;

use super::functions::{report, summary_report};
use crate::failure::Stop;
use crate::session::{Scene, Session};

/// The list of instructions.
pub(crate) fn pcs(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        report(&scene, "pcs", "PCs", &list(&scene))
    };
    session.print(&report)
}

/// Every instruction in detail.
pub(crate) fn psummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?.with_all_metrics();
        summary_report(&scene, "psummary", "PCs", &list(&scene))
    };
    session.print(&report)
}

fn list(scene: &Scene<'_>) -> List {
    let (total, rows) = view(scene.profile, &scene.names, &scene.request);
    let rows = rows.into_iter().map(|pc| pc.row);
    List {
        total,
        rows: rows.collect(),
    }
}

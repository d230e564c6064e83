//! The loops and worksharing constructs of the program, by its code and sources.

use experiment::symbols::Workshare;
use omp_ring::context::Context;
use race_checker::code::Code;
use symbolize::{Symbols, iterations};

use crate::places::Places;
use crate::source::Sources;

impl Code for Places {
    fn loop_around(&mut self, code: u64) -> Option<u64> {
        let ask = |symbols: &Symbols, svma, sources: &mut Sources| {
            iterations::worksharing_loop(symbols, svma, |file| sources.text(file))
        };
        // The head lies as far from the call in memory as in the file.
        let (svma, head) = self.ask(code, ask)?;
        Some(code - 1 - svma + head?)
    }

    fn is_of_directive(&mut self, code: u64) -> bool {
        if let Some(known) = self.directives.get(&code) {
            return *known;
        }
        let ask = |symbols: &Symbols, svma, sources: &mut Sources| {
            iterations::is_of_directive(symbols, svma, |file| sources.text(file))
        };
        let is_of_directive = self.ask(code, ask).is_some_and(|(_, answer)| answer);
        self.directives.insert(code, is_of_directive);
        is_of_directive
    }

    fn calls(&mut self, stack: &Context) -> Vec<u64> {
        self.calls_on(stack)
    }
}

impl Places {
    /// The file and line of the directive of the worksharing loop around the call that returns to
    /// `code`, in the function of that call.
    pub(crate) fn static_loop(&mut self, code: u64) -> Option<(String, u32)> {
        let ask = |symbols: &Symbols, svma, sources: &mut Sources| {
            iterations::loop_directive(symbols, svma, |file| sources.text(file))
        };
        self.ask(code, ask)?.1
    }

    /// The line of the directive of the worksharing construct that the call begins which returns to
    /// `code`; `construct`: which one, if that is known.
    pub(crate) fn line_of_directive(
        &mut self,
        code: u64,
        construct: Option<Workshare>,
    ) -> Option<u32> {
        let ask = |symbols: &Symbols, svma, sources: &mut Sources| {
            iterations::directive_of_call(symbols, svma, construct, |file| sources.text(file))
        };
        self.ask(code, ask)?.1
    }

    /// Whether the access that the call reports which returns to `code` waits for a flag.
    pub(crate) fn is_in_wait(&mut self, code: u64) -> bool {
        if let Some(known) = self.waits.get(&code) {
            return *known;
        }
        let ask = |symbols: &Symbols, svma, _: &mut Sources| iterations::is_in_wait(symbols, svma);
        let Some((_, is_in_wait)) = self.ask(code, ask) else {
            return false;
        };
        self.waits.insert(code, is_in_wait);
        is_in_wait
    }

    /// Asks about the call that returns to `code`; with the answer comes the svma of its last byte.
    fn ask<T>(
        &mut self,
        code: u64,
        question: impl FnOnce(&Symbols, u64, &mut Sources) -> T,
    ) -> Option<(u64, T)> {
        let (module, svma) = self.user_call(code)?;
        let (symbols, sources) = self.symbols_and_sources(module)?;
        Some((svma, question(symbols, svma, sources)))
    }
}

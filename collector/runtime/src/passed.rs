//! The functions that calls into LLVM's runtime pass as the bodies of regions and tasks.
//!
//! OMPT tells the address of the call that made a construct, and no more. That call does not identify
//! the directive: of a function that ends in a jump to the runtime, the address lies in its caller,
//! and a taskloop's tasks are created by the runtime itself, on any thread. So the entry points are
//! interposed. They leave here what they pass, for the callback that the same call leads to.

use inside::context::Call;

/// A call that forks a region or creates a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BodyCall {
    /// The return address into the program.
    pub(crate) code: u64,
    /// An address below the return address on the stack and above all that the runtime uses of it.
    pub(crate) frame: u64,
    /// The outlined function that it passes.
    pub(crate) body: u64,
}

/// The task that a thread executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Current {
    /// Its instance id; 0: an implicit task.
    pub(crate) id: u64,
    /// It is one of a taskloop's tasks.
    pub(crate) in_taskloop: bool,
    /// It is untied.
    pub(crate) is_untied: bool,
}

/// A call that creates the tasks of a taskloop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taskloop {
    call: BodyCall,
    encountered_by: Current,
}

/// How a task came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// By its own directive.
    Directive,
    /// As one of a taskloop's tasks, by the call of the taskloop.
    Taskloop,
    /// As one of a taskloop's tasks, by another of them: the runtime divides large taskloops.
    Division,
}

/// The calls that a thread is in. All zero outside of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    /// The last call for a region or a single task.
    pub(crate) last: BodyCall,
    /// The innermost open call for a taskloop. Its tasks may run before it returns, and encounter
    /// others.
    taskloop: Taskloop,
    /// The task that the thread executes, according to the runtime. OMPT's encountering task is
    /// another one if a taskloop's task is divided: the one that encountered the taskloop.
    pub(crate) current: Current,
}

impl Passed {
    /// The thread calls the runtime for a taskloop. Returns what is to be given to
    /// [`leave`](Self::leave) when that call returns.
    pub(crate) fn enter(&mut self, call: BodyCall) -> Taskloop {
        let entered = Taskloop {
            call,
            encountered_by: self.current,
        };
        std::mem::replace(&mut self.taskloop, entered)
    }

    /// That call returns.
    pub(crate) fn leave(&mut self, outer: Taskloop) {
        self.taskloop = outer;
    }

    /// Completes `call`, by which the runtime says that a region or a single task is made. Whether it
    /// is the last call.
    #[inline]
    pub(crate) fn complete(&self, call: &mut Call) -> bool {
        let is_last = call.code != 0 && call.code == self.last.code;
        if is_last {
            call.frame = self.last.frame;
            call.body = self.last.body;
        }
        is_last
    }

    /// Completes `call`, by which the runtime says that a task is created.
    #[inline]
    pub(crate) fn complete_task(&self, call: &mut Call) -> Origin {
        if self.complete(call) {
            return Origin::Directive;
        }
        let taskloop = &self.taskloop;
        if taskloop.call.code != 0 && taskloop.encountered_by == self.current {
            let BodyCall { code, frame, body } = taskloop.call;
            (call.code, call.frame, call.body) = (code, frame, body);
            return Origin::Taskloop;
        }
        if self.current.in_taskloop {
            Origin::Division
        } else {
            Origin::Directive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runtime's own code, and calls in the program.
    const RUNTIME: u64 = 1;
    const TASK: u64 = 100;
    const LOOP: u64 = 200;
    const NESTED: u64 = 300;
    /// A taskloop's task.
    const PART: Current = Current {
        id: 9,
        in_taskloop: true,
        is_untied: false,
    };

    fn call(code: u64) -> BodyCall {
        let (frame, body) = (code + 1, code + 2);
        BodyCall { code, frame, body }
    }

    /// What a creation at `code` is completed to: its origin, address, frame and body.
    fn created(passed: &Passed, code: u64) -> (Origin, [u64; 3]) {
        let mut call = Call {
            code,
            frame: 7,
            body: 0,
            in_task: false,
            task_end: 0,
        };
        let origin = passed.complete_task(&mut call);
        (origin, [call.code, call.frame, call.body])
    }

    fn passed_by(origin: Origin, code: u64) -> (Origin, [u64; 3]) {
        (origin, [code, code + 1, code + 2])
    }

    #[test]
    fn a_task_has_the_body_that_its_own_call_passes() {
        let passed = Passed {
            last: call(TASK),
            ..Passed::default()
        };
        let own = passed_by(Origin::Directive, TASK);
        assert_eq!(created(&passed, TASK), own);
        let other = (Origin::Directive, [TASK + 8, 7, 0]);
        assert_eq!(created(&passed, TASK + 8), other);
    }

    #[test]
    fn a_taskloop_s_tasks_are_those_of_its_call() {
        let mut passed = Passed::default();
        let none = passed.enter(call(LOOP));
        let own = passed_by(Origin::Taskloop, LOOP);
        assert_eq!(created(&passed, RUNTIME), own);
        // One of them, executed before the call returns, creates a task by a directive.
        passed.current = PART;
        passed.last = call(TASK);
        let task = passed_by(Origin::Directive, TASK);
        assert_eq!(created(&passed, TASK), task);
        // It encounters a taskloop.
        let outer = passed.enter(call(NESTED));
        let nested = passed_by(Origin::Taskloop, NESTED);
        assert_eq!(created(&passed, RUNTIME), nested);
        passed.leave(outer);
        // The runtime divides it.
        let divided = (Origin::Division, [RUNTIME, 7, 0]);
        assert_eq!(created(&passed, RUNTIME), divided);
        passed.current = Current::default();
        assert_eq!(created(&passed, RUNTIME), own);
        passed.leave(none);
        let unknown = (Origin::Directive, [RUNTIME, 7, 0]);
        assert_eq!(created(&passed, RUNTIME), unknown);
    }

    #[test]
    fn a_taskloop_s_task_is_divided_by_any_thread() {
        let passed = Passed {
            current: PART,
            ..Passed::default()
        };
        assert_eq!(created(&passed, RUNTIME).0, Origin::Division);
    }

    #[test]
    fn a_call_of_unknown_address_is_left_as_it_is() {
        let unknown = (Origin::Directive, [0, 7, 0]);
        assert_eq!(created(&Passed::default(), 0), unknown);
    }
}

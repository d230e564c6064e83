use experiment::symbols::{Construct, Outlined};
use experiment::tables::Cut;

use super::*;
use crate::views::test_profile::TestProfile;

#[test]
fn names_follow_the_style() {
    let mut test = TestProfile::new();
    let plain = test.function("ns::f<int>(char)");
    test.symbols.functions[0].linkage = "_ZN2ns1fIiEEvc".to_owned();
    let outlined = test.function("foo.omp_outlined");
    test.symbols.functions[1].outlined = Some(Outlined {
        construct: Construct::Parallel,
        parent: Some("foo(int)".to_owned()),
        line: Some(9),
    });
    let nameless = test.function("<static>@0x40 (<prog>)");
    test.symbols.functions[2].linkage = String::new();
    let stub = test.function("f(int)@plt");
    test.symbols.functions[3].linkage = "_Z1fi@plt".to_owned();
    let name = |form, soname, callee| {
        Names {
            style: NameStyle { form, soname },
            ..test.names()
        }
        .name(callee)
    };
    let plain = Callee::Function(plain);
    assert_eq!(name(NameForm::Long, false, plain), "ns::f<int>(char)");
    assert_eq!(name(NameForm::Short, false, plain), "ns::f<…>");
    assert_eq!(
        name(NameForm::Mangled, true, plain),
        "_ZN2ns1fIiEEvc [prog]"
    );
    let region = Callee::Function(outlined);
    let long = "foo(int) -- OMP parallel region from line 9 [foo.omp_outlined]";
    assert_eq!(name(NameForm::Long, false, region), long);
    let short = "foo -- OMP parallel region from line 9";
    assert_eq!(name(NameForm::Short, false, region), short);
    assert_eq!(
        name(NameForm::Long, false, Callee::ParentOf(outlined)),
        "foo(int)"
    );
    let code = Callee::Static(ModuleId(2), 0x2a);
    assert_eq!(name(NameForm::Long, true, code), "<static>@0x2a (<prog>)");
    let nowhere = Callee::Static(ModuleId::NONE, 0x2a);
    assert_eq!(
        name(NameForm::Long, true, nowhere),
        "<static>@0x2a (<Unknown>)"
    );
    let nameless = Callee::Function(nameless);
    for form in [NameForm::Long, NameForm::Short, NameForm::Mangled] {
        assert_eq!(name(form, true, nameless), "<static>@0x40 (<prog>)");
    }
    let stub = Callee::Function(stub);
    assert_eq!(name(NameForm::Long, false, stub), "f(int)@plt");
    assert_eq!(name(NameForm::Short, true, stub), "f@plt [prog]");
    assert_eq!(name(NameForm::Mangled, false, stub), "_Z1fi@plt");
    let cut = Callee::Cut(Cut::DumpTooSmall);
    assert_eq!(name(NameForm::Long, true, cut), "<Truncated-stack>");
}

#[test]
fn parameters_end_a_name_and_operators_do_not() {
    assert_eq!(without_parameters("f(int)"), "f");
    let code = "<static>@0x2a (<prog>)";
    assert_eq!(without_parameters(code), code);
    assert_eq!(
        without_parameters("(anonymous namespace)::f(int)"),
        "(anonymous namespace)::f"
    );
    assert_eq!(
        without_parameters("A::operator()(int) const"),
        "A::operator()"
    );
    assert_eq!(without_parameters("A::operator<(A)"), "A::operator<");
    assert_eq!(without_parameters("A::operator<<(A)"), "A::operator<<");
    assert_eq!(without_parameters("A::operator->()"), "A::operator->");
    assert_eq!(without_parameters("f<void (int)>(char)"), "f<void (int)>");
    assert_eq!(without_parameters("main"), "main");
    for (name, bare) in [
        ("main", "main"),
        ("kernels::smooth", "smooth"),
        ("f(int)", "f"),
        (
            "void phys::Field<double, 200000>::apply<main::$_0>(main::$_0)",
            "apply",
        ),
        ("(anonymous namespace)::f(int)", "f"),
        ("A::operator<(A)", "operator<"),
        ("A<B::C>::operator()(int) const", "operator()"),
        ("f<void (int)>(char)", "f"),
        ("", ""),
    ] {
        assert_eq!(unqualified(name), bare, "{name}");
    }
}

#[test]
fn copies_of_a_static_function_of_a_header_are_one_row() {
    let mut test = TestProfile::new();
    let at = |line| {
        let file = FileId(0);
        Some(SourceLine { file, line })
    };
    let copies = ["norm", "norm2", "norm3"].map(|name| test.function(name));
    for (id, line) in copies.into_iter().zip([7, 7, 90]) {
        let function = &mut test.symbols.functions[id.0 as usize];
        function.linkage = "norm".to_owned();
        function.name = "norm".to_owned();
        function.source = at(line);
    }
    let names = test.names();
    let mut canonical = names.canonical();
    let rows = copies.map(|id| canonical.of(Callee::Function(id)));
    let [first, _, other] = copies.map(Callee::Function);
    assert_eq!(rows, [first, first, other]);
}

#[test]
fn the_file_of_a_function_stays_in_its_short_name() {
    let name = "ns::f(int) (in a.cpp)";
    assert_eq!(short(name), "ns::f (in a.cpp)");
    assert_eq!(without_parameters(name), "ns::f");
    assert_eq!(unqualified(name), "f");
}

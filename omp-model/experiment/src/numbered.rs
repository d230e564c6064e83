//! Enums that are stored by their numbers.

macro_rules! numbered {
    ($($(#[$attribute:meta])* $visible:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $number:literal,)*
    })*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        $visible enum $name {
            $($(#[$of_variant])* $variant = $number,)*
        }

        impl $name {
            /// All of them, in the order of their numbers.
            $visible const ALL: [$name; [$($number),*].len()] = [$($name::$variant),*];

            /// The variant with this number; `None` if there is none.
            $visible fn from_u8(number: u8) -> Option<$name> {
                $name::ALL.into_iter().find(|&known| known as u8 == number)
            }
        }
    )*};
}

pub(crate) use numbered;

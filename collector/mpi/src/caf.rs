//! The functions that gfortran calls for coarrays, up to release 14, as OpenCoarrays has them (`libcaf.h`).
//!
//! An array is known by its descriptor, and a coarray by a token. A copy between two other images counts as a put.

use crate::pgas::{Bytes, Object, Peer, Way, pgas_rows};
use Bytes::{Array, Elements, Nothing as NoBytes};
use Object::At;
use Peer::{Image, Nobody};

/// Calls the macro `$take` with the functions of coarrays.
#[macro_export]
macro_rules! caf_functions {
    ($take:ident) => {
        $take! {
            Management Nothing 2 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_init _gfortran_caf_init;
            }
            Management Collective 0 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_finalize _gfortran_caf_finalize;
            }
            Management Nothing 3 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_this_image _gfortran_caf_this_image;
                _gfortran_caf_num_images _gfortran_caf_num_images;
                _gfortran_caf_image_status _gfortran_caf_image_status;
                _gfortran_caf_failed_images _gfortran_caf_failed_images;
                _gfortran_caf_stopped_images _gfortran_caf_stopped_images;
                _gfortran_caf_team_number _gfortran_caf_team_number;
                _gfortran_caf_get_communicator _gfortran_caf_get_communicator;
                _gfortran_caf_is_contiguous _gfortran_caf_is_contiguous;
                _gfortran_caf_random_init _gfortran_caf_random_init;
                _gfortran_caf_stop_numeric _gfortran_caf_stop_numeric;
                _gfortran_caf_stop_str _gfortran_caf_stop_str;
                _gfortran_caf_error_stop _gfortran_caf_error_stop;
                _gfortran_caf_error_stop_str _gfortran_caf_error_stop_str;
                _gfortran_caf_fail_image _gfortran_caf_fail_image;
            }
            Management Collective 3 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_form_team _gfortran_caf_form_team;
                _gfortran_caf_change_team _gfortran_caf_change_team;
                _gfortran_caf_end_team _gfortran_caf_end_team;
            }
            Allocation Collective 7 (Bytes::Allocated(0)) (Nobody) (Object::Behind(2)) {
                _gfortran_caf_register _gfortran_caf_register;
            }
            Allocation Collective 5 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_deregister _gfortran_caf_deregister;
            }
            Get Transfer 10 (Array(Way::Received, 5, 3)) (Image(2)) (At(0)) {
                _gfortran_caf_get _gfortran_caf_get;
            }
            Put Transfer 10 (Array(Way::Sent, 3, 3)) (Image(2)) (At(0)) {
                _gfortran_caf_send _gfortran_caf_send;
            }
            Put Transfer 14 (Array(Way::Sent, 3, 3)) (Image(2)) (At(0)) {
                _gfortran_caf_sendget _gfortran_caf_sendget;
            }
            Get Transfer 10 (Array(Way::Received, 2, 2)) (Image(1)) (At(0)) {
                _gfortran_caf_get_by_ref _gfortran_caf_get_by_ref;
            }
            Put Transfer 10 (Array(Way::Sent, 2, 2)) (Image(1)) (At(0)) {
                _gfortran_caf_send_by_ref _gfortran_caf_send_by_ref;
            }
            Put Transfer 13 (Bytes::Unknown) (Image(1)) (At(0)) {
                _gfortran_caf_sendget_by_ref _gfortran_caf_sendget_by_ref;
            }
            Get Transfer 3 (NoBytes) (Image(1)) (At(0)) { _gfortran_caf_is_present _gfortran_caf_is_present; }
            Collective Collective 5 (Bytes::BroadcastImage(0, 1)) (Nobody) (Object::None) {
                _gfortran_caf_co_broadcast _gfortran_caf_co_broadcast;
            }
            Collective Collective 6 (Bytes::ReduceImage(0, 1)) (Nobody) (Object::None) {
                _gfortran_caf_co_max _gfortran_caf_co_max; _gfortran_caf_co_min _gfortran_caf_co_min;
                _gfortran_caf_co_sum _gfortran_caf_co_sum;
            }
            Collective Collective 8 (Bytes::ReduceImage(0, 3)) (Nobody) (Object::None) {
                _gfortran_caf_co_reduce _gfortran_caf_co_reduce;
            }
            Barrier Barrier 5 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_sync_all _gfortran_caf_sync_all;
                _gfortran_caf_sync_images _gfortran_caf_sync_images;
                _gfortran_caf_sync_team _gfortran_caf_sync_team;
            }
            Fence Quiet 3 (NoBytes) (Nobody) (Object::None) {
                _gfortran_caf_sync_memory _gfortran_caf_sync_memory;
            }
            Atomic Transfer 7 (Elements(Way::Sent, 6, 1)) (Image(2)) (At(0)) {
                _gfortran_caf_atomic_define _gfortran_caf_atomic_define;
            }
            Atomic Transfer 7 (Elements(Way::Received, 6, 1)) (Image(2)) (At(0)) {
                _gfortran_caf_atomic_ref _gfortran_caf_atomic_ref;
            }
            Atomic Transfer 9 (Elements(Way::Both, 8, 1)) (Image(2)) (At(0)) {
                _gfortran_caf_atomic_cas _gfortran_caf_atomic_cas;
            }
            Atomic Transfer 9 (Bytes::Operation(8, 5)) (Image(3)) (At(1)) {
                _gfortran_caf_atomic_op _gfortran_caf_atomic_op;
            }
            Lock Lock 7 (NoBytes) (Image(2)) (At(0)) { _gfortran_caf_lock _gfortran_caf_lock; }
            Lock Nothing 7 (NoBytes) (Image(2)) (At(0)) { _gfortran_caf_unlock _gfortran_caf_unlock; }
            Wait Nothing 6 (NoBytes) (Image(2)) (At(0)) {
                _gfortran_caf_event_post _gfortran_caf_event_post;
                _gfortran_caf_event_query _gfortran_caf_event_query;
            }
            Wait Flag 6 (NoBytes) (Nobody) (At(0)) { _gfortran_caf_event_wait _gfortran_caf_event_wait; }
        }
    };
}

caf_functions!(pgas_rows);

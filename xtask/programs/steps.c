// A program in time steps, shaped like LULESH: each step runs some thirty short parallel loops
// from functions a few calls deep, with a reduction and a critical section now and then. Where a
// region takes six microseconds, two threads make a million OpenMP events a second; the bench finds
// the number of elements with which they do.
//
// usage: steps STEPS [ELEMENTS]
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static long elements;
static double *position, *velocity, *force, *energy, *pressure, *volume;

#define LOOP(name, statement)                                                                      \
    static NOINLINE void name(double dt) {                                                         \
        _Pragma("omp parallel for schedule(static)") for (long i = 0; i < elements; i++) {         \
            statement;                                                                             \
        }                                                                                          \
    }

LOOP(clear_forces, force[i] = 0.0 * dt)
LOOP(stress, force[i] += pressure[i] * volume[i] * dt)
LOOP(hourglass, force[i] -= 0.01 * velocity[i] * volume[i] * dt)
LOOP(gravity, force[i] -= 1e-3 * position[i] * dt)
LOOP(accelerate, velocity[i] += force[i] / (1.0 + volume[i]) * dt)
LOOP(damp, velocity[i] *= 1.0 - 1e-4 * dt)
LOOP(move, position[i] += velocity[i] * dt)
LOOP(boundary, position[i] = position[i] > 1e6 ? 1e6 : position[i])
LOOP(strain, volume[i] = 1.0 + 1e-3 * (position[i] - velocity[i]) * dt)
LOOP(limit_volume, volume[i] = volume[i] < 0.1 ? 0.1 : volume[i])
LOOP(viscosity, energy[i] += 1e-3 * velocity[i] * velocity[i] * dt)
LOOP(compress, energy[i] *= 1.0 - 1e-3 * (volume[i] - 1.0) * dt)
LOOP(state, pressure[i] = 0.4 * energy[i] / volume[i])
LOOP(limit_pressure, pressure[i] = pressure[i] > 1e3 ? 1e3 : pressure[i])
LOOP(relax, energy[i] += 1e-6 * (1.0 - energy[i]) * dt)

static NOINLINE double time_step(double dt) {
    double least = 1.0;
#pragma omp parallel for schedule(static) reduction(min : least)
    for (long i = 0; i < elements; i++) {
        double own = 0.5 * volume[i] / (1.0 + velocity[i] * velocity[i]);
        least = own < least ? own : least;
    }
    return least < dt ? least : dt;
}

static NOINLINE double total(void) {
    double sum = 0.0;
#pragma omp parallel
    {
        double own = 0.0;
#pragma omp for nowait
        for (long i = 0; i < elements; i++)
            own += energy[i];
#pragma omp critical
        sum += own;
    }
    return sum;
}

static NOINLINE void nodes(double dt) {
    clear_forces(dt);
    stress(dt);
    hourglass(dt);
    gravity(dt);
    accelerate(dt);
    damp(dt);
    move(dt);
    boundary(dt);
}

static NOINLINE void material(double dt) {
    for (int pass = 0; pass < 2; pass++) {
        compress(dt);
        state(dt);
        limit_pressure(dt);
        relax(dt);
    }
}

static NOINLINE void cells(double dt) {
    strain(dt);
    limit_volume(dt);
    viscosity(dt);
    material(dt);
}

static NOINLINE double step(double dt) {
    nodes(dt);
    cells(dt);
    return time_step(dt);
}

static double *filled(double value) {
    double *array = malloc(elements * sizeof *array);
    for (long i = 0; i < elements; i++)
        array[i] = value + 1e-6 * i;
    return array;
}

int main(int argc, char **argv) {
    long steps = argc > 1 ? atol(argv[1]) : 1000;
    elements = argc > 2 ? atol(argv[2]) : 24000;
    position = filled(1.0);
    velocity = filled(0.1);
    force = filled(0.0);
    energy = filled(1.0);
    pressure = filled(0.4);
    volume = filled(1.0);
    double dt = 1e-3, sum = 0.0;
    for (long i = 0; i < steps; i++) {
        dt = step(dt);
        if (i % 8 == 0)
            sum += total();
    }
    printf("%g\n", sum);
    return 0;
}

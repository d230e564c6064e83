/* Controls its own recording, and measures what the views are to show. */
#define _GNU_SOURCE
#include "collectorAPI.h"
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double wall(void) { return seconds(CLOCK_MONOTONIC); }
static double cpu(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

/* Works for so many seconds of CPU time, and returns how many they were. */
static double work(double length) {
  double begin = cpu();
  while (cpu() - begin < length) {
  }
  return cpu() - begin;
}

/* A region in which the second thread works a quarter as long; the CPU time of both. */
static double region(double length) {
  double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += work(omp_get_thread_num() ? length / 4 : length);
  return sum;
}

/* Comments in assembly keep compilers from making one function of three. */
static __attribute__((noinline)) double before(void) {
  double sum = region(0.3);
  __asm__ volatile("/* before */");
  return sum;
}

static __attribute__((noinline)) double within(void) {
  double sum = region(0.3);
  __asm__ volatile("/* within */");
  return sum;
}

static __attribute__((noinline)) double after(void) {
  double sum = region(0.3);
  __asm__ volatile("/* after */");
  return sum;
}

/* Prints the wall and work of each phase. */
static void phases(void) {
  double begin = wall();
  collector_phase_begin("setup");
  double worked = work(0.2);
  collector_phase_end();
  printf("setup %f %f\n", wall() - begin, worked);

  double all[2] = {0, 0}, inner[2] = {0, 0};
  for (int step = 0; step < 20; step++) {
    double begin = wall();
    collector_phase_begin("solve");
    double worked = region(0.02);
    double inner_begin = wall();
    collector_phase_begin("inner");
    double inner_worked = work(0.01);
    collector_phase_end();
    inner[0] += wall() - inner_begin;
    inner[1] += inner_worked;
    collector_phase_end();
    all[0] += wall() - begin;
    all[1] += worked + inner_worked;
  }
  printf("solve %f %f\n", all[0], all[1]);
  printf("inner %f %f\n", inner[0], inner[1]);

  begin = wall();
  collector_phase_begin("rest");
  worked = work(0.1);
  printf("rest %f %f\n", wall() - begin, worked);
}

/* GCC 12 has no omp_control_tool. */
#ifdef HAS_TOOL
static void tool(omp_control_tool_t command) { omp_control_tool(command, 0, NULL); }
#define PAUSE tool(omp_control_tool_pause)
#define START tool(omp_control_tool_start)
#else
#define PAUSE abort()
#define START abort()
#endif

static void pauses(int by_tool) {
  printf("before %f\n", before());
  double begin = wall();
  if (by_tool)
    PAUSE;
  else
    collector_pause();
  double worked = within();
  if (by_tool)
    START;
  else
    collector_resume();
  printf("paused %f\n", wall() - begin);
  printf("within %f\n", worked);
  printf("after %f\n", after());
}

static void own_handler(int signal) { (void)signal; }

int main(int count, char **words) {
  const char *mode = count > 1 ? words[1] : "";
  /* The runtime starts before anything is measured. */
  region(0.001);
  if (!strcmp(mode, "phases")) {
    phases();
  } else if (!strcmp(mode, "pause")) {
    pauses(0);
  } else if (!strcmp(mode, "tool")) {
    pauses(1);
  } else if (!strcmp(mode, "end")) {
    printf("before %f\n", before());
    collector_sample("the end");
    collector_terminate_expt();
    printf("within %f\n", within());
  } else if (!strcmp(mode, "names")) {
    /* Names that do not compress. */
    unsigned long long seed = 1;
    for (int at = 0; at < 40000; at++) {
      char name[65];
      for (int letter = 0; letter < 64; letter++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        name[letter] = 33 + (seed >> 33) % 94;
      }
      name[64] = 0;
      collector_phase_begin(name);
      collector_phase_end();
      double until = wall() + 4e-5;
      while (wall() < until) {
      }
    }
    region(0.5);
  } else if (!strcmp(mode, "calls")) {
    for (int at = 0; at < 1000000; at++) {
      collector_phase_begin("x");
      collector_phase_end();
    }
    collector_phase_end();
    collector_sample(NULL);
    collector_phase_begin(NULL);
  } else {
    if (!strcmp(mode, "handler"))
      signal(SIGUSR1, own_handler);
    printf("ready\n");
    fflush(stdout);
    double end = wall() + 1.5;
    while (wall() < end)
      region(0.01);
  }
  return 3;
}

// two inner teams write one variable: are both regions of each access named?
int omp_get_thread_num(void);
void omp_set_max_active_levels(int);
static double buf[4][8];
int main(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(2)
    {
      double *b = buf[omp_get_thread_num()];
      for (int k = 0; k < 8; k++) b[k] += k;
    }
  }
  return buf[0][3] < 0; }

# Completions of er_print for bash, made from its table of commands.
_er_print() {
    local word=${COMP_WORDS[COMP_CWORD]}
    case ${COMP_WORDS[COMP_CWORD-1]} in
        -scc) COMPREPLY=($(compgen -W "parallel inline src all none" -- "$word")); return ;;
        -dcc) COMPREPLY=($(compgen -W "parallel inline src all none" -- "$word")); return ;;
        -cc) COMPREPLY=($(compgen -W "parallel inline src all none" -- "$word")); return ;;
        -export) COMPREPLY=($(compgen -W "folded speedscope pprof hatchet firefox perfetto sarif parquet" -- "$word")); return ;;
        -name) COMPREPLY=($(compgen -W "long short mangled" -- "$word")); return ;;
        -viewmode) COMPREPLY=($(compgen -W "user expert machine" -- "$word")); return ;;
        -inline) COMPREPLY=($(compgen -W "on off" -- "$word")); return ;;
        -compare) COMPREPLY=($(compgen -W "off on delta ratio scaling" -- "$word")); return ;;
        -printmode) COMPREPLY=($(compgen -W "text json html markdown" -- "$word")); return ;;
        -rdetail) COMPREPLY=($(compgen -W "all" -- "$word")); return ;;
        -ddetail) COMPREPLY=($(compgen -W "all" -- "$word")); return ;;
        -udetail) COMPREPLY=($(compgen -W "all" -- "$word")); return ;;
        -vdetail) COMPREPLY=($(compgen -W "all" -- "$word")); return ;;
        -en_desc) COMPREPLY=($(compgen -W "on off" -- "$word")); return ;;
    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "-functions -fsummary -fsingle -metrics -sort -callers-callees -gprof -calltree -ctree -csingle -cprepend -cappend -crmfirst -crmlast -lines -lsummary -pcs -psummary -source -disasm -sthresh -dthresh -setpath -addpath -pathmap -scc -dcc -cc -Threads -CPUs -Samples -Phases -Seconds -Processes -Experiment_IDs -Rank_IDs -Hosts -OMP_preg -OMP_task -OMP_loop -OMP_lock -indxobj -indxobj_list -indxobj_define -ranks -mpi -waits -causes -critical -pgas -pairs -memory -experiment_list -exp_list -sample_list -thread_list -lwp_list -cpu_list -object_list -filters -describe -thread_select -lwp_select -cpu_select -sample_select -object_select -object_show -object_hide -object_api -objects_default -metric_list -cmetric_list -gmetric_list -indx_metric_list -outfile -appendfile -export -limit -name -viewmode -inline -compare -printmode -races -rdetail -rsummary -deadlocks -ddetail -dsummary -misuse -uninit -udetail -divergence -vdetail -vsummary -suppressions -header -overview -statistics -objects -sample_detail -report -no_source -redact -check -budgets -procstats -script -version -help -quit -exit -open_exp -add_exp -drop_exp -resymbolize -dmetrics -dsort -en_desc -tabs -tlmode -tldata" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _er_print er_print

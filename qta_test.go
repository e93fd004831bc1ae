package qta

import "flag"

var update = flag.Bool("update", false, "rewrite the index and the regressions that the tests hold the code to; never the golden vectors")

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// startPagesAfter is when the start is over, and its pages are cold.
const startPagesAfter = time.Second

// forgetStartPages takes the program's own pages, code and constants, out of the process' memory; those that are used
// come back from the page cache, a few microseconds each. The libraries of an etcd that is linked in touch nearly all of it
// while they are initialised: that made 25 MiB of a server that idles in 10.
func forgetStartPages(log *zap.Logger) (stop func() bool) {
	return time.AfterFunc(startPagesAfter, func() {
		maps, err := cleanMappings("/proc/self/smaps")
		if err != nil {
			log.Debug("the program's pages stay in memory", zap.Error(err))
			return
		}
		for _, m := range maps {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED) // advice only
		}
	}).Stop
}

type mapping struct{ from, to uintptr }

// cleanMappings finds the mappings of the program's file that nobody can write to and nobody has written to: what the kernel
// can read again. (Of a position-independent program the loader has written to some.)
func cleanMappings(smaps string) (list []mapping, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(smaps)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var last *mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %4s", &from, &to, &mode); n == 3 {
			if last = nil; strings.HasSuffix(line, " "+program) && (mode == "r-xp" || mode == "r--p") {
				list = append(list, mapping{from, to})
				last = &list[len(list)-1]
			}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "Anonymous:"); ok && last != nil && strings.TrimSpace(rest) != "0 kB" {
			list = list[:len(list)-1]
			last = nil
		}
	}
	return list, nil
}

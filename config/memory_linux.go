package config

import "syscall"

// physicalBytes is the machine's memory; 0 if unknown.
func physicalBytes() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

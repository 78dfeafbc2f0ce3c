//go:build !noembed

package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// milestone is a file in the data dir that says whose the data is, and whether that
// member was ever ready. One that wasn't is an attempt that was broken off, and is
// forgotten like any other (form.go).
type milestone struct {
	Name    string            `json:"name"`
	Cluster map[string]string `json:"cluster"`
	Ready   bool              `json:"ready"`
}

const milestoneName = "millrace-member.json"

// inspect says whether etcd restarts from its data, and makes room if it doesn't.
func (e *Embedded) inspect() (restart bool, err error) {
	data := filepath.Join(e.dir, "member") // etcd's folder in its data dir
	text, err := os.ReadFile(filepath.Join(e.dir, milestoneName))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(data); err == nil {
			return false, fmt.Errorf("etcd: %s holds the data of an etcd that isn't Millrace's", e.dir)
		}
		return false, os.MkdirAll(e.dir, 0o700)
	}
	if err != nil {
		return false, err
	}
	var m milestone
	if err := json.Unmarshal(text, &m); err != nil {
		return false, fmt.Errorf("etcd: %s: %w", filepath.Join(e.dir, milestoneName), err)
	}
	if !m.Ready {
		return false, os.RemoveAll(data)
	}
	if m.Name != e.options.Name || !maps.Equal(m.Cluster, e.options.Cluster) {
		return false, fmt.Errorf("etcd: the data in %s is of member %s of the cluster %v, and this is %s of %v: go back to that, "+
			"or remove the folder while a majority of the others runs", e.dir, m.Name, m.Cluster, e.options.Name, e.options.Cluster)
	}
	if _, err := os.Stat(data); err != nil {
		return false, fmt.Errorf("etcd: the data of member %s is gone, and %s remains: remove that folder too, while a majority of the others runs",
			m.Name, filepath.Join(e.dir, milestoneName))
	}
	return true, nil
}

// setMilestone writes the file, and has it outlive the machine: without it the
// data is not believed.
func (e *Embedded) setMilestone(ready bool) error {
	text, _ := json.Marshal(milestone{e.options.Name, e.options.Cluster, ready}) // strings only
	path := filepath.Join(e.dir, milestoneName)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(e.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

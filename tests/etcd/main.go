// A real etcd, and somebody who asks it: the yardstick of the store's benchmark.
//
//	etcd serve ARGUMENTS...       runs the server
//	etcd load ENDPOINT SECONDS FOLDER    measures it, and prints a line "name value" for each figure
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

const (
	valueSize = 1024
	listed    = 10000
	page      = 500
	watchers  = 1000
	updates   = 100000
)

var value = strings.Repeat("v", valueSize)

func main() {
	if len(os.Args) < 3 || (os.Args[1] == "load" && len(os.Args) < 5) {
		fmt.Fprintln(os.Stderr, "usage: etcd serve ARGUMENTS... | etcd load ENDPOINT SECONDS FOLDER")
		os.Exit(2)
	}
	if os.Args[1] == "serve" {
		etcdmain.Main(append([]string{"etcd"}, os.Args[2:]...))
		return
	}
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	check(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[2]}, DialTimeout: 30 * time.Second, MaxCallRecvMsgSize: 1 << 30})
	check(err)
	defer client.Close()
	load(client, time.Duration(seconds*float64(time.Second)), os.Args[4])
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Creates as a server of the Kubernetes API does it: only if nothing is there.
func create(client *clientv3.Client, key string) {
	absent := clientv3.Compare(clientv3.ModRevision(key), "=", 0)
	_, err := client.Txn(context.Background()).If(absent).Then(clientv3.OpPut(key, value)).Commit()
	check(err)
}

// Calls for so long from so many clients; returns calls per second.
func rate(clients int, seconds time.Duration, call func(client int, number int)) float64 {
	var done atomic.Int64
	var wait sync.WaitGroup
	begin := time.Now()
	end := begin.Add(seconds)
	for client := 0; client < clients; client++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for number := 0; time.Now().Before(end); number++ {
				call(client, number)
				done.Add(1)
			}
		}()
	}
	wait.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds()
}

func load(client *clientv3.Client, seconds time.Duration, folder string) {
	background := context.Background()
	var wait sync.WaitGroup
	for part := 0; part < 64; part++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for at := part; at < listed; at += 64 {
				create(client, fmt.Sprintf("/listed/%05d", at))
			}
		}()
	}
	wait.Wait()
	found := rate(16, seconds, func(at int, number int) {
		_, err := client.Get(background, fmt.Sprintf("/listed/%05d", (number*16+at)%listed))
		check(err)
	})
	fmt.Printf("gets-16 %.0f\n", found)
	best := time.Hour
	for round := 0; round < 5; round++ {
		begin := time.Now()
		answer, err := client.Get(background, "/listed/", clientv3.WithPrefix())
		check(err)
		if len(answer.Kvs) != listed {
			check(fmt.Errorf("%d were listed", len(answer.Kvs)))
		}
		best = min(best, time.Since(begin))
	}
	fmt.Printf("list-ms %.1f\n", best.Seconds()*1e3)
	best = time.Hour
	for round := 0; round < 5; round++ {
		begin := time.Now()
		key, revision := "/listed/", int64(0)
		for {
			options := []clientv3.OpOption{clientv3.WithRange("/listed0"), clientv3.WithLimit(page), clientv3.WithRev(revision)}
			answer, err := client.Get(background, key, options...)
			check(err)
			revision = answer.Header.Revision
			if !answer.More {
				break
			}
			key = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
		}
		best = min(best, time.Since(begin))
	}
	fmt.Printf("pages-ms %.1f\n", best.Seconds()*1e3)
	fan(client)
	rewrite(client, folder)
	for _, clients := range []int{1, 16, 64} {
		found := rate(clients, seconds, func(at int, number int) {
			create(client, fmt.Sprintf("/creates/%d/%d/%d", clients, at, number))
		})
		fmt.Printf("creates-%d %.0f\n", clients, found)
	}
}

// One writer, many watchers: how fast events come out, and how late.
func fan(client *clientv3.Client) {
	const events = 300
	begun := make([]time.Time, events)
	late := make([]time.Duration, 0, watchers*events)
	var lock sync.Mutex
	var wait, ready sync.WaitGroup
	for watcher := 0; watcher < watchers; watcher++ {
		wait.Add(1)
		ready.Add(1)
		context, cancel := context.WithCancel(context.Background())
		channel := client.Watch(context, "/fan/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		go func() {
			defer wait.Done()
			defer cancel()
			mine := make([]time.Duration, 0, events)
			for answer := range channel {
				if answer.Created {
					ready.Done()
				}
				for range answer.Events {
					mine = append(mine, time.Since(begun[len(mine)]))
				}
				if len(mine) == events {
					break
				}
			}
			lock.Lock()
			late = append(late, mine...)
			lock.Unlock()
		}()
	}
	ready.Wait()
	begin := time.Now()
	for at := 0; at < events; at++ {
		begun[at] = time.Now()
		create(client, fmt.Sprintf("/fan/%05d", at))
	}
	wait.Wait()
	elapsed := time.Since(begin)
	sort.Slice(late, func(one, other int) bool { return late[one] < late[other] })
	fmt.Printf("fan-events %.0f\n", float64(watchers*events)/elapsed.Seconds())
	fmt.Printf("fan-p99-ms %.1f\n", late[len(late)*99/100].Seconds()*1e3)
}

// Many updates of some objects, then compaction and defragmentation.
func rewrite(client *clientv3.Client, folder string) {
	background := context.Background()
	var wait sync.WaitGroup
	for part := 0; part < 64; part++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for at := part; at < updates; at += 64 {
				_, err := client.Put(background, fmt.Sprintf("/listed/%05d", at%listed), value)
				check(err)
			}
		}()
	}
	wait.Wait()
	answer, err := client.Get(background, "/listed/00000")
	check(err)
	_, err = client.Compact(background, answer.Header.Revision, clientv3.WithCompactPhysical())
	check(err)
	endpoint := client.Endpoints()[0]
	fmt.Printf("disk-mb %.1f\n", size(folder))
	_, err = client.Defragment(background, endpoint)
	check(err)
	fmt.Printf("disk-defragmented-mb %.1f\n", size(folder))
}

// All files of a folder, in megabytes.
func size(folder string) float64 {
	total := int64(0)
	check(filepath.Walk(folder, func(_ string, found os.FileInfo, err error) error {
		if err == nil && !found.IsDir() {
			total += found.Size()
		}
		return err
	}))
	return float64(total) / 1e6
}

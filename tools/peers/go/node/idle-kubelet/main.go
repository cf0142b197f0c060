// Stands in for the kubelet of nodes that run without Kubernetes: it says that it is well and does nothing, so that
// Talos gets to the end of its boot sequence. Where the API server would be it hangs up on every caller: Talos notices
// the end of a watch that fails like this at once, but waits up to a minute for one that nobody answers.
package main

import (
	"log"
	"net"
	"net/http"
)

func main() {
	go hangUp(":6443")
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = answer.Write([]byte("ok"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:10248", nil))
}

func hangUp(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	for {
		if caller, err := listener.Accept(); err == nil {
			_ = caller.Close()
		}
	}
}

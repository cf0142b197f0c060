module talosmith.test/etcd

go 1.26.0

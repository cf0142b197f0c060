module talosmith.test/etcd

go 1.25.0

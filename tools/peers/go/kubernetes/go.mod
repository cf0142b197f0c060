module talosmith.test/kubernetes

go 1.26.0

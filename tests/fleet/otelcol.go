// SPDX-License-Identifier: GPL-2.0

// A collector with what tests/fleet/otlp.t needs. Any otelcol or otelcol-contrib will do, too. Debian sid has its parts: unpack
// golang-opentelemetry-collector-dev with its dependencies and golang-go (1.27) into a directory ROOT (apt-get install
// --download-only, dpkg -x; 2.7 GB), copy this file to SRC/src/otelcol/main.go, and there (a minute on two cores):
//
//	GO111MODULE=off GOTOOLCHAIN=local GOROOT=ROOT/usr/lib/go-1.27 GOPATH=SRC:ROOT/usr/share/gocode \
//		ROOT/usr/lib/go-1.27/bin/go build -o otelcol .
//	OTELCOL=$PWD/otelcol make check-fleet T=otlp
package main

import (
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	var f otelcol.Factories
	var err error
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory(), otlphttpexporter.NewFactory())
	f.Telemetry = otelconftelemetry.NewFactory()
	return f, err
}

func main() {
	set := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Version: "0.152"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()}}},
	}
	if err := otelcol.NewCommand(set).Execute(); err != nil {
		log.Fatal(err)
	}
}

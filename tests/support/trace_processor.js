// Runs Perfetto's trace processor (WebAssembly) in node: `node trace_processor.js FOLDER`, where FOLDER holds the files of Perfetto's
// interface. Standard input is a stream of the processor's remote calls, standard output that of its answers.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = process.argv[2];
const requests = fs.readFileSync(0);
const fileOf = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

// What the processor's worker finds in a browser.
class XMLHttpRequest {
  open(_method, url) { this.url = url; }
  setRequestHeader() {}
  overrideMimeType() {}
  send() {
    this.status = 200;
    const data = fileOf(this.url);
    this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  }
}
const scope = {
  TextDecoder, TextEncoder, URL, XMLHttpRequest, performance, setTimeout, clearTimeout,
  crypto: globalThis.crypto,
  console: { log: console.error, warn() {}, error: console.error },
  location: { href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost' },
  WorkerGlobalScope: class {},
  importScripts() {},
};
scope.self = scope;
vm.createContext(scope);
vm.runInContext(fileOf('engine_bundle.js').toString('utf8'), scope);

const port = { postMessage: (data) => fs.writeSync(1, Buffer.from(data)) };
scope.onmessage({ data: port });

function failed(error) {
  process.stderr.write(`${(error && error.message) || error}`.slice(0, 2000));  // the stack names the whole bundle
  process.exit(1);
}
process.on('uncaughtException', failed);
process.on('unhandledRejection', failed);
// The processor is ready when promises that are resolved by now have run.
setTimeout(() => port.onmessage({ data: vm.runInContext('Uint8Array', scope).from(requests) }), 0);

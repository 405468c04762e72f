'use strict';
// Drives the library eureka-js-client until standard input says "stop"; see the README.
//   node driver.js SERVER_URL[,SERVER_URL…] [APP [PORT]]
const readline = require('readline');
const { Eureka } = require('eureka-js-client');

const [server, app = 'js-client', port = '9201'] = process.argv.slice(2);
const serviceUrls = server.split(',').map((url) => url.replace(/\/$/, '') + '/apps/');
const line = (event, more) => console.log(JSON.stringify({ event, ...more }));
const quiet = () => {};

const client = new Eureka({
  logger: { warn: console.error, error: console.error, info: quiet, debug: quiet },
  instance: {
    app,
    instanceId: `${app}:${port}`,
    hostName: 'localhost',
    ipAddr: '127.0.0.1',
    port: { $: Number(port), '@enabled': 'true' },
    securePort: { $: 443, '@enabled': 'false' },
    vipAddress: app,
    secureVipAddress: app,
    dataCenterInfo: { '@class': 'com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo', name: 'MyOwn' },
    leaseInfo: { renewalIntervalInSecs: 2, durationInSecs: 6 },
    metadata: { zone: 'zone-a', lang: 'js' },
    statusPageUrl: `http://localhost:${port}/info`,
  },
  eureka: {
    serviceUrls: { default: serviceUrls },
    heartbeatInterval: 2000,
    registryFetchInterval: 1000,
    maxRetries: 2,
    requestRetryDelay: 300,
  },
});

let told;
function tellChanges() {
  const apps = {};
  for (const [name, instances] of Object.entries(client.cache.app)) {
    apps[name] = Object.fromEntries(instances.map((i) => [i.instanceId, i.status]));
  }
  const now = JSON.stringify(apps);
  if (now !== told) line('apps', { apps });
  told = now;
}

function stop() {
  client.stop((error) => {
    if (error) console.error(error);
    process.exit(error ? 1 : 0);
  });
}

client.on('registered', () => line('registered'));
client.on('deregistered', () => line('deregistered'));
client.on('registryUpdated', tellChanges);
client.start((error) => {
  if (error) process.exit(1);
  const commands = readline.createInterface({ input: process.stdin });
  commands.on('line', (command) => command === 'stop' && commands.close());
  commands.on('close', stop);
});

import { expect, test } from "vitest";
import { namesLacking, neededNames, wantedNames } from "#certificates/names.ts";

test("a cluster's certificate covers its members, its Services, and the local host", () => {
  expect(wantedNames("foo", "my-etcd", ["etcd.example.com", "10.0.0.1", "LocalHost", "0:0:0:0:0:0:0:1"])).toEqual([
    "*.my-etcd.foo.svc",
    "*.my-etcd.foo.svc.cluster.local",
    "localhost",
    "127.0.0.1",
    "::1",
    "my-etcd",
    "my-etcd.foo",
    "my-etcd.foo.svc",
    "my-etcd.foo.svc.cluster.local",
    "my-etcd-client",
    "my-etcd-client.foo",
    "my-etcd-client.foo.svc",
    "my-etcd-client.foo.svc.cluster.local",
    "etcd.example.com",
    "10.0.0.1",
  ]);
});

test("a user-provided certificate must cover the members and the client Service, by wildcards or by names", () => {
  const needed = neededNames("foo", "my-etcd", 2, "server");
  expect(neededNames("foo", "my-etcd", 2, "peer")).toEqual(needed.slice(0, 2));
  expect(needed).toEqual(["my-etcd-0.my-etcd.foo.svc", "my-etcd-1.my-etcd.foo.svc", "my-etcd-client.foo.svc"]);
  expect(namesLacking(wantedNames("foo", "my-etcd"), needed)).toEqual([]);
  expect(namesLacking(needed, needed)).toEqual([]);
  expect(namesLacking(["my-etcd-0.my-etcd.foo.svc", "*.foo.svc"], needed)).toEqual(["my-etcd-1.my-etcd.foo.svc"]);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { EventRecorder, type Regarding } from "#kube/events.ts";
import { EVENTS } from "#kube/kinds.ts";

const { signal } = new AbortController();
let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(async () => await server?.stop());

const db: Regarding = {
  apiVersion: "etcd.improbable.io/v1",
  kind: "EtcdCluster",
  namespace: "default",
  name: "db",
  uid: "u1",
};

async function told(reason: string, namespace = "default") {
  const { items } = await server.client.list(EVENTS, { namespace }, { signal });
  return items.filter((event) => event.reason === reason);
}

test("the API server accepts events and updates of their counts", async () => {
  const recorder = new EventRecorder({ client: server.client, instance: "operator-0" });
  const note = { type: "Warning" as const, reason: "ReplaceDead", action: "RemoveMember", note: "ö".repeat(2_000) };
  for (let n = 0; n < 3; n++) recorder.record(db, note);
  await recorder.flush(signal);
  expect(recorder.stats.dropped).toBe(0);
  const [event, ...others] = await told("ReplaceDead");
  expect(others).toEqual([]);
  expect(event).toMatchObject({ type: "Warning", regarding: db, series: { count: 3 }, note: "ö".repeat(512) });
});

test("events of cluster-scoped objects and with very long names are accepted", async () => {
  const recorder = new EventRecorder({ client: server.client, instance: "operator-0" });
  const [space] = (await server.client.list(NAMESPACES, {}, { signal })).items;
  const { name, uid } = space!.metadata;
  const note = { type: "Normal" as const, reason: "Seen", action: "Look", note: "" };
  recorder.record({ apiVersion: "v1", kind: "Namespace", name, uid }, note);
  recorder.record({ ...db, name: `${"a".repeat(200)}.b`, uid: "u2" }, note);
  await recorder.flush(signal);
  expect(recorder.stats).toMatchObject({ created: 2, dropped: 0 });
  expect(await told("Seen")).toHaveLength(2);
});

test("an event in a deleted namespace is dropped, and the next event is written", async () => {
  const recorder = new EventRecorder({ client: server.client, instance: "operator-0" });
  const note = { type: "Normal" as const, reason: "AfterGone", action: "Look", note: "n" };
  recorder.record({ ...db, namespace: "gone" }, note);
  recorder.record({ ...db, uid: "u3" }, note);
  await recorder.flush(signal);
  expect(recorder.stats).toMatchObject({ created: 1, dropped: 1 });
});

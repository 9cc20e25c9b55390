import assert from "node:assert/strict";
import { test } from "vitest";
import { receivedIn, saysLeader, serverIdIn } from "./metrics-lines.ts";

const FROM = "etcd_network_peer_received_bytes_total";

test.each([
  ["of a member", `${FROM}{From="91bc3c398fb3c146"} 1548`, { from: 0x91bc3c398fb3c146n, bytes: 1548 }],
  ["as Go writes large numbers", `${FROM}{From="f"} 1.0344586e+07`, { from: 0xfn, bytes: 10_344_586 }],
  ["without a number", `${FROM}{From="f"} NaN`, undefined],
  ["of nobody", `${FROM}{From="0"} 60`, undefined],
  ["in the other direction", 'etcd_network_peer_sent_bytes_total{To="f"} 60', undefined],
  ["explained", `# TYPE ${FROM} counter`, undefined],
])("bytes %s", (_what, line, expected) => {
  assert.deepEqual(receivedIn(line), expected);
});

test("the metrics have the member's ID, and whether it is the leader", () => {
  assert.equal(serverIdIn('etcd_server_id{server_id="a"} 1'), 0xan);
  assert.equal(serverIdIn('etcd_server_id{server_id="a"} 0'), undefined);
  assert.equal(serverIdIn('etcd_server_id{server_id="0"} 1'), undefined);
  assert.equal(saysLeader("etcd_server_is_leader 1"), true);
  assert.equal(saysLeader("etcd_server_is_leader 0"), false);
});

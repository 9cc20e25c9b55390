import assert from "node:assert/strict";
import { test } from "vitest";
import { receivedIn, saysLeader, serverIdIn } from "./metrics-lines.ts";

const FROM = "etcd_network_peer_received_bytes_total";

test.each([
  [
    "received from a member are read",
    `${FROM}{From="91bc3c398fb3c146"} 1548`,
    { from: 0x91bc3c398fb3c146n, bytes: 1548 },
  ],
  ["in scientific notation are read", `${FROM}{From="f"} 1.0344586e+07`, { from: 0xfn, bytes: 10_344_586 }],
  ["that are not a number are ignored", `${FROM}{From="f"} NaN`, undefined],
  ["from member 0 are ignored", `${FROM}{From="0"} 60`, undefined],
  ["that were sent are ignored", 'etcd_network_peer_sent_bytes_total{To="f"} 60', undefined],
  ["in a comment are ignored", `# TYPE ${FROM} counter`, undefined],
])("bytes %s", (_what, line, expected) => {
  assert.deepEqual(receivedIn(line), expected);
});

test("the member's own ID, and whether it is the leader, are read from its metrics", () => {
  assert.equal(serverIdIn('etcd_server_id{server_id="a"} 1'), 0xan);
  assert.equal(serverIdIn('etcd_server_id{server_id="a"} 0'), undefined);
  assert.equal(serverIdIn('etcd_server_id{server_id="0"} 1'), undefined);
  assert.equal(saysLeader("etcd_server_is_leader 1"), true);
  assert.equal(saysLeader("etcd_server_is_leader 0"), false);
});

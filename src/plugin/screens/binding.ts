import { clockText, leftText } from "../age.ts";
import { at, conditionOf, nameOf, namespaceOf, textAt, textsAt, type Values } from "../fields.ts";
import type { Line } from "../lines.ts";

/** How an application connects as an EtcdUser. The Secret itself is never read. */
export function bindingScreen(user: Values, nowMs: number): readonly Line[] {
  const ready = conditionOf(user, "Ready");
  const secret = textAt(user, "status", "binding", "name");
  const ends = at(user, "status", "certificate", "notAfter");
  return [
    [
      { text: nameOf(user), tone: "strong" },
      `  ${ready?.reason ?? "not seen by the operator yet"}  `,
      `user ${textAt(user, "status", "userName") || nameOf(user)} of EtcdCluster ${textAt(user, "spec", "clusterRef", "name")}`,
    ],
    [`roles        ${textsAt(user, "spec", "roles").join(", ") || "none"}`],
    ...(secret === ""
      ? [["The Secret with its credentials is not there yet."]]
      : [
          [`Secret       ${secret}`],
          ...(ends === undefined ? [] : [[`certificate  ends in ${leftText(ends, nowMs)}`]]),
          [`credentials  made ${clockText(at(user, "status", "lastRotationTime"), nowMs) || "at an unknown time"}`],
          [],
          ["In a pod, with one file for each key:"],
          [`  volumes: [{ name: etcd, secret: { secretName: ${secret} } }]`],
          ["To read one key:"],
          [
            `  kubectl -n ${namespaceOf(user)} get secret ${secret} -o go-template='{{.data.endpoints | base64decode}}'`,
          ],
        ]),
    ...(ready?.status === "True" || ready === undefined
      ? []
      : [[{ text: `! ${ready.message}`, tone: "warn" } as const]]),
  ];
}

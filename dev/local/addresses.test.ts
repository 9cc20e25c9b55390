import { expect, test } from "vitest";
import { linkOf, MAX_NODES, nodeAddresses, SLOTS } from "./addresses.ts";

test("addresses: the link of every slot has its own /30 network", () => {
  const links = Array.from({ length: SLOTS }, (_, slot) => linkOf(slot));
  expect(new Set(links.flatMap((link) => [link.hostAddress, link.insideAddress])).size).toBe(2 * SLOTS);
  for (const { hostDevice, hostAddress, insideAddress } of links) {
    expect(hostDevice.length).toBeLessThanOrEqual(15);
    const [host, inside] = [hostAddress, insideAddress].map((address) => Number(address.split(".")[3]));
    expect(inside).toBe((host ?? 0) + 1);
    expect((host ?? 0) % 4).toBe(1);
  }
});

test("addresses: nodes share no address, and every octet is valid", () => {
  const all = Array.from({ length: MAX_NODES }, (_, index) => nodeAddresses(index + 1)).flatMap((node) => [
    node.gateway,
    node.address,
    node.apiAddress,
  ]);
  expect(new Set(all).size).toBe(all.length);
  for (const octet of all.flatMap((address) => address.split("."))) expect(Number(octet)).toBeLessThan(255);
});

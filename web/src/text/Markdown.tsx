// Markdown as React elements. The agent's words never become HTML: tags are shown as the text they are, pictures are
// not fetched, and an address can be seen before it is followed.

import { lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode, useMemo } from "react";
import { Scrollable } from "../ui/Scrollable";
import { undrawn } from "./drawn";
import { Payload } from "./Payload";
import { Shown } from "./Shown";

/** What is still being written is read again with each piece; blocks that are complete are drawn once. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => keyed(lexer(text)), [text]);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2 wrap-anywhere">
      {blocks.map(({ key, token }) => (
        <Block key={key} token={token} />
      ))}
    </div>
  );
});

function keyed(tokens: Token[]): { key: number; token: Token }[] {
  let key = 0;
  return tokens.map((token) => {
    const at = key;
    key += token.raw.length;
    return { key: at, token };
  });
}

const HEADING = [
  "text-base font-semibold",
  "text-base font-semibold",
  "font-semibold",
  "font-semibold",
  "font-semibold",
  "font-semibold",
];

const Block = memo(
  function Block({ token }: { token: Token }): ReactNode {
    switch (token.type) {
      case "space":
        return null;
      case "heading": {
        const { depth, tokens } = token as Tokens.Heading;
        // Their outline is their own: to the page, it is text in a message.
        return <p className={HEADING[depth - 1] ?? ""}>{inline(tokens)}</p>;
      }
      case "paragraph":
        return <p className="whitespace-pre-line">{inline((token as Tokens.Paragraph).tokens)}</p>;
      case "code": {
        const { text, lang } = token as Tokens.Code;
        return (
          <div>
            {lang && (
              <p className="bg-sunken px-3 pt-1 text-xs text-ink-2">
                <Shown text={lang} />
              </p>
            )}
            <Payload text={text} />
          </div>
        );
      }
      case "blockquote":
        return (
          <blockquote className="grid gap-2 border-l border-line pl-3 text-ink-2">
            <Blocks tokens={(token as Tokens.Blockquote).tokens} />
          </blockquote>
        );
      case "list": {
        const { ordered, items } = token as Tokens.List;
        const rows = keyed(items).map(({ key, token: item }) => <Row key={key} item={item as Tokens.ListItem} />);
        return ordered ? (
          <ol className="grid list-decimal gap-1 pl-6">{rows}</ol>
        ) : (
          <ul className="grid list-disc gap-1 pl-6">{rows}</ul>
        );
      }
      case "hr":
        return <hr className="border-line" />;
      case "table":
        return <Table table={token as Tokens.Table} />;
      case "text": {
        const { tokens, text } = token as Tokens.Text;
        return tokens ? inline(tokens) : <Shown text={text} />;
      }
      default:
        // HTML and link definitions among others: as they were written.
        return (
          <p className="whitespace-pre-wrap">
            <Shown text={token.raw.trimEnd()} />
          </p>
        );
    }
  },
  (before, after) => before.token.raw === after.token.raw && before.token.type === after.token.type,
);

function Blocks({ tokens }: { tokens: Token[] }) {
  return keyed(tokens).map(({ key, token }) => <Block key={key} token={token} />);
}

function Row({ item }: { item: Tokens.ListItem }) {
  // Numbers as they were written, also where they skip.
  const number = /^\s*(\d+)[.)]/.exec(item.raw)?.[1];
  return (
    <li value={number === undefined ? undefined : Number(number)}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      <Blocks tokens={item.tokens.filter((token) => token.type !== "checkbox")} />
    </li>
  );
}

function Table({ table }: { table: Tokens.Table }) {
  // A row with more cells than the heading loses them: then it is text.
  const cells = [table.header, ...table.rows].flat().map((one) => one.text);
  if (undrawn(table.raw, cells.join(" ")) > 0) return <Payload text={table.raw.trimEnd()} />;
  const cell = "border border-line px-2 py-1 text-left align-top";
  return (
    <Scrollable label="Table" className="overflow-x-auto">
      <table className="border-collapse">
        <thead>
          <tr>
            {table.header.map((head, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name
              <th key={at} className={`${cell} font-semibold`}>
                {inline(head.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
            <tr key={at}>
              {row.map((one, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns have no other name
                <td key={column} className={cell}>
                  {inline(one.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

function inline(tokens: Token[] | undefined): ReactNode {
  return keyed(tokens ?? []).map(({ key, token }) => <Fragment key={key}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong className="font-semibold">{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return (
        <code className="bg-sunken px-1 py-px font-mono text-[13px]">
          <Shown text={(token as Tokens.Codespan).text} where="payload" />
        </code>
      );
    case "br":
      return <br />;
    case "link":
      return <Link link={token as Tokens.Link} />;
    case "image": {
      const { href, text, title } = token as Tokens.Image;
      return <Shown text={`[picture: ${[text || "no name", href, title].filter(Boolean).join(", ")}]`} />;
    }
    case "escape":
      return <Shown text={(token as Tokens.Escape).text} />;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : <Shown text={text} />;
    }
    default:
      return <Shown text={token.raw} />;
  }
}

const SAFE = /^(https?:\/\/|mailto:)/i;

/** A link says where it leads, so that its words cannot lie about it. */
function Link({ link }: { link: Tokens.Link }) {
  if (!SAFE.test(link.href)) return <Shown text={link.raw} />;
  // `[words][name]`: the name is a part of what was written.
  const words = link.raw.endsWith("]") ? <Shown text={link.raw} /> : inline(link.tokens);
  const more = [link.text === link.href ? "" : link.href, link.title ? `"${link.title}"` : ""].filter(Boolean);
  return (
    <>
      <a href={link.href} target="_blank" rel="noreferrer noopener" className="underline underline-offset-2">
        {words}
      </a>
      {more.length > 0 && (
        <span className="text-ink-2">
          {" "}
          (<Shown text={more.join(" ")} />)
        </span>
      )}
    </>
  );
}

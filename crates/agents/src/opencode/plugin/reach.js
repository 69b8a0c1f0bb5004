// Shows what opencode asks on every screen of Holdstead. The dialog stays in the terminal; the first answer counts.
// Written by Holdstead, and written again when it changes: to be without it, delete this file.
//
// It tells Holdstead on this machine what happens here, over a socket that only this account can open and with a secret
// that only its own programs can read. Whatever goes wrong,
// opencode goes on as if it were not there, and nothing is printed.

import fs from "node:fs"
import net from "node:net"

const SOCKET = "@SOCKET@"
const AGENT = "@AGENT@"
// What Holdstead wants to see first. It is another one each time that Holdstead is started.
const SECRET = SOCKET.replace(/sock$/, "secret")

// How often Holdstead is looked for after it went away; for how long an ask is held for it; and how often after that.
const AGAIN = 1_000
const NO_LONGER = 10 * 60_000
const NOW_AND_THEN = 30_000
// How long Holdstead may take to take what it is told, and opencode an answer.
const TAKING = 2_000
const POSTING = 5_000
const SETTLING = 10
// So long an ask waits for its call.
const CALL_FIRST = 1_000
// So long words may wait for others.
const WORDS = 300
// What is kept back while Holdstead does not listen, and of whole files.
const MOST_WAITING = 1_000
const MOST_OUTPUT = 100_000
const MOST_KNOWN = 5_000

const sleep = (time) =>
  new Promise((wake) => {
    const timer = setTimeout(wake, time)
    timer.unref?.()
  })

const within = (time, promise) => Promise.race([promise, sleep(time)])

// Says one thing on a connection of its own, and gives back the line that one who waits is given. `taken` is called with a
// way to stop waiting when it was said, and `gone` when nothing more is to be said, whether it was or not.
const reach = (said, { waits = false, taken, gone } = {}) =>
  new Promise((done) => {
    let text = ""
    let reached = false
    let over = false
    let socket
    let limit
    const end = (reply) => {
      if (over) return
      over = true
      clearTimeout(limit)
      socket?.destroy()
      gone?.()
      done({ reached, reply })
    }
    try {
      const line = JSON.stringify({ agent: AGENT, pid: process.pid, waits, said: JSON.stringify(said) }) + "\n"
      const secret = fs.readFileSync(SECRET)
      socket = net.createConnection({ path: SOCKET })
      socket.setEncoding("utf8")
      socket.on("error", () => end())
      socket.on("close", () => end())
      socket.on("data", (more) => {
        text += more
        const at = text.indexOf("\n")
        if (at < 0) return
        try {
          end(JSON.parse(text.slice(0, at)))
        } catch {
          end()
        }
      })
      socket.on("connect", () => {
        socket.write(secret)
        socket.write(line, () => {
          if (over) return
          reached = true
          if (waits) clearTimeout(limit)
          taken?.(() => end())
          // Nobody says that it was taken: a moment, so that what follows is heard after it.
          setTimeout(() => gone?.(), SETTLING)
        })
      })
      // Nobody here keeps the program from ending.
      socket.unref?.()
      limit = setTimeout(() => end(), TAKING)
      limit.unref?.()
    } catch {
      end()
    }
  })

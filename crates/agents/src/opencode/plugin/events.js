
export const Holdstead = async ({ client, directory }) => {
  // An agent that is hosted has its own way to ask.
  if (process.env.HOLDSTEAD_HOSTED) return {}

  // Asks that opencode waits for, by their id. What is not in here is never answered.
  const open = new Map()
  // Of each session: its parent, what it is called, whether it rests, and with what its last message was written.
  const sessions = new Map()
  // Who wrote a message.
  const roles = new Map()
  // Words that are being said, by part.
  const speech = new Map()
  // Calls that were made and are not over.
  const calls = new Map()

  const remember = (map, key, value) => {
    map.set(key, value)
    if (map.size > MOST_KNOWN) map.delete(map.keys().next().value)
  }

  // What Holdstead must hear and did not, because it was away: it shows an ask until it hears that it is over.
  const missed = []
  const catchUp = async () => {
    while (missed.length > 0) {
      const { said, since } = missed[0]
      if (Date.now() - since < NO_LONGER && !(await reach(said)).reached) return
      missed.shift()
    }
  }

  // Connections may overtake each other: the next one begins when the last one was taken.
  let last = Promise.resolve()
  let waiting = 0
  const inOrder = (step, always = false) => {
    if (waiting >= MOST_WAITING && !always) return Promise.resolve()
    waiting += 1
    last = last
      .then(catchUp)
      .then(step)
      .catch(() => {})
      .then((result) => {
        waiting -= 1
        return result
      })
    return last
  }

  const session = (id) => {
    if (!sessions.has(id)) remember(sessions, id, { idle: true })
    return sessions.get(id)
  }

  const learn = (info) => {
    const known = session(info.id)
    known.parent = info.parentID ?? null
    known.name = info.agent ?? info.title
  }

  // Whose session it is. One that began before this program did is asked for.
  const around = async (id) => {
    let root = id
    for (let depth = 0; depth < 16; depth += 1) {
      const known = session(root)
      if (known.parent === undefined) {
        const found = await within(TAKING, client._client.get({ url: `/session/${root}` })).catch(() => {})
        if (found?.data?.id) learn(found.data)
        else known.parent = null
      }
      if (!known.parent) break
      root = known.parent
    }
    const said = { directory, conversation: root, session: id }
    if (root !== id) said.subagent = session(id).name
    return said
  }

  const tell = (id, said) => inOrder(async () => reach({ ...(await around(id)), ...said }))

  const insist = (id, said) =>
    inOrder(async () => {
      const whole = { ...(await around(id)), ...said() }
      const { reached } = await reach(whole)
      if (!reached && whole.over.length > 0) missed.push({ said: whole, since: Date.now() })
    }, true)

  // Waits for a line, in its place among what is said, for as long as it is wanted.
  const hold = async (id, said, wanted, taken, patience) => {
    let lost
    while (wanted()) {
      const answered = await new Promise((done) => {
        const step = async (gone) => {
          const whole = { ...(await around(id)), ...said() }
          done(wanted() ? await reach(whole, { waits: true, taken, gone }) : {})
        }
        inOrder(() => new Promise((gone) => step(gone).catch(() => done({})).finally(gone)), true)
      })
      if (answered.reply) return answered.reply
      if (answered.reached) lost = undefined
      lost ??= Date.now()
      const long = Date.now() - lost > NO_LONGER
      if (long && !patience) return
      await sleep(long ? patience : AGAIN)
    }
  }

  // What opencode says to it, as HTTP has it; 599 if it said nothing.
  const post = async (url, body) => {
    try {
      const headers = { "content-type": "application/json" }
      const done = await within(POSTING, client._client.post({ url, body, headers }))
      return done?.response?.status ?? 599
    } catch {
      return 599
    }
  }

  // The time in which somebody may answer elsewhere.
  const ask = async (it) => {
    // It may be asked a moment before its call is said to run, and without the call nobody knows all that it does.
    const late = Date.now() + CALL_FIRST
    while (!it.call && it.callID && open.has(it.id) && Date.now() < late) {
      await sleep(SETTLING)
      it.call = calls.get(it.callID)
    }
    const said = () => ({ event: it.event, call: it.call })
    const taken = (close) => {
      it.heard = true
      it.close = close
    }
    const reply = await hold(it.session, said, () => open.has(it.id), taken)
    const answer = reply?.answer
    if (!answer) return
    // An ask that its session left behind looks open, and what it asks about would run.
    if (!open.has(it.id)) {
      tell(it.session, { answered: { id: it.id, status: 0 } })
      return
    }
    const permission = it.event.type === "permission.asked"
    const way = permission ? `/permission/${it.id}` : `/question/${it.id}`
    const sent = permission
      ? post(`${way}/reply`, { reply: answer.reply, ...(answer.message ? { message: answer.message } : {}) })
      : answer.answers
        ? post(`${way}/reply`, { answers: answer.answers })
        : post(`${way}/reject`)
    // Before anything that opencode says meanwhile.
    inOrder(async () => {
      const status = await sent
      it.ours = status === 200
      return reach({ ...(await around(it.session)), answered: { id: it.id, status } })
    }, true)
  }

  const asked = (event) => {
    const { id, sessionID, tool, permission, questions } = event.properties
    if (open.has(id)) return
    const call = questions ? { tool: "question", input: { questions } } : calls.get(tool?.callID)
    const it = { id, session: sessionID, permission, callID: tool?.callID, call, event }
    open.set(id, it)
    ask(it).catch(() => {})
  }

  // These are over: nobody answers them any more, whatever comes.
  const over = (id, event, those) => {
    for (const it of those) open.delete(it.id)
    // Holdstead may have been away since it heard of them.
    const named = () =>
      those.filter((it) => it.heard).map(({ id, permission, callID, ours }) => ({ id, permission, callID, ours }))
    const told = those.length > 0 ? insist(id, () => ({ event, over: named() })) : tell(id, { event })
    // What ended them is said first.
    told.then(() => those.forEach((it) => it.close?.()))
  }

  const replied = (event) => {
    const { sessionID, requestID } = event.properties
    const it = open.get(requestID)
    over(sessionID, event, it ? [it] : [])
  }

  const rests = (event) => {
    const id = event.properties?.sessionID
    if (!id) return
    say(id)
    session(id).idle = true
    over(id, event, [...open.values()].filter((it) => it.session === id))
    for (const [part, it] of speech) if (it.session === id) speech.delete(part)
  }

  // One at a time waits for a message in each session of a person's.
  const listen = async (id) => {
    const known = session(id)
    if (known.listens) return
    known.listens = true
    const said = () => ({ waiter: { idle: known.idle } })
    while ((await around(id)).conversation === id && !known.deleted) {
      const reply = await hold(id, said, () => !known.deleted, undefined, NOW_AND_THEN)
      if (!reply?.say) {
        await sleep(AGAIN)
        continue
      }
      known.idle = false
      const body = { ...known.with, parts: [{ type: "text", text: reply.say }] }
      const sent = post(`/session/${id}/prompt_async`, body)
      await inOrder(async () => {
        const status = await sent
        if (status >= 300) known.idle = true
        return reach({ ...(await around(id)), posted: { status } })
      }, true)
    }
  }

  // What was said since the last time. Half a character waits for its other half.
  const say = (id) => {
    for (const [, it] of speech) {
      if (id && it.session !== id) continue
      let end = it.text.length
      const unit = it.text.charCodeAt(end - 1)
      if (unit >= 0xd800 && unit <= 0xdbff) end -= 1
      if (end <= it.said) continue
      const text = it.text.slice(it.said, end)
      it.said = end
      tell(it.session, { words: { messageID: it.message, kind: it.kind, text } })
    }
  }

  let soon
  const saySoon = () => {
    if (soon) return
    soon = setTimeout(() => {
      soon = undefined
      say()
    }, WORDS)
    soon.unref?.()
  }

  const message = (event) => {
    const { id, sessionID, role, parentID, summary, agent, model } = event.properties.info
    // What opencode writes for itself when a conversation grows too long is nobody's words.
    const by = role === "assistant" && summary === true ? "summary" : role
    if (role === "user") {
      const chosen = model?.providerID ? { model: { providerID: model.providerID, modelID: model.modelID } } : {}
      session(sessionID).with = { ...chosen, ...(agent ? { agent } : {}) }
    }
    if (roles.has(id)) return
    remember(roles, id, by)
    if (by === "summary") return
    session(sessionID).idle = false
    say(sessionID)
    const info = { id, sessionID, role, parentID }
    tell(sessionID, { event: { type: event.type, properties: { info } } })
  }

  const part = (event) => {
    const it = event.properties.part
    const by = roles.get(it.messageID)
    if (it.type === "tool") return call(event.type, it)
    if (by === "user" && it.type === "text" && !it.synthetic && !it.ignored) {
      const { id, sessionID, messageID, type, text } = it
      tell(sessionID, { event: { type: event.type, properties: { part: { id, sessionID, messageID, type, text } } } })
    }
    if (by !== "assistant" || (it.type !== "text" && it.type !== "reasoning")) return
    if (it.synthetic || it.ignored) return
    const known = speech.get(it.id)
    const spoken = known ?? { session: it.sessionID, message: it.messageID, kind: it.type, said: 0, text: "" }
    spoken.text = it.text ?? ""
    if (!known) remember(speech, it.id, spoken)
    if (it.time?.end) {
      say(it.sessionID)
      speech.delete(it.id)
    } else saySoon()
  }

  const delta = ({ partID, field, delta }) => {
    const it = speech.get(partID)
    if (!it || field !== "text") return
    it.text += delta
    saySoon()
  }

  // Once when it is made, and once when it is over.
  const call = (type, it) => {
    const { id, sessionID, messageID, callID, tool, state } = it
    const { status, input } = state ?? {}
    if (status !== "running" && status !== "completed" && status !== "error") return
    const isNew = !calls.has(callID)
    if (status === "running" && !isNew) return
    remember(calls, callID, { tool, input })
    if (status !== "running") calls.delete(callID)
    const cut = (text) =>
      typeof text === "string" && text.length > MOST_OUTPUT ? `${text.slice(0, MOST_OUTPUT)} … (cut)` : text
    const short = { status, input, output: cut(state.output), error: cut(state.error) }
    say(sessionID)
    const properties = { part: { id, sessionID, messageID, callID, type: "tool", tool, state: short } }
    tell(sessionID, { event: { type, properties } })
  }

  const heard = (event) => {
    switch (event.type) {
      case "session.created":
        learn(event.properties.info)
        tell(event.properties.info.id, { event: { type: event.type } })
        return listen(event.properties.info.id)
      case "session.updated":
        return learn(event.properties.info)
      case "session.deleted":
        session(event.properties.info.id).deleted = true
        return
      case "message.updated":
        message(event)
        return listen(event.properties.info.sessionID)
      case "message.part.updated":
        return part(event)
      case "message.part.delta":
        return delta(event.properties)
      case "permission.asked":
      case "question.asked":
        say(event.properties.sessionID)
        return asked(event)
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        return replied(event)
      case "session.status":
        if (event.properties.status?.type === "idle") rests(event)
        else session(event.properties.sessionID).idle = false
        return
      case "session.idle":
        return rests(event)
      case "session.error": {
        // Not what the model's server said besides.
        const { sessionID, error } = event.properties
        const short = { name: error?.name, data: { message: error?.data?.message } }
        return rests({ type: event.type, properties: { sessionID, error: short } })
      }
    }
  }

  return {
    event: async ({ event }) => {
      try {
        // Nobody waits here: what is said takes its own time.
        heard(event)?.catch?.(() => {})
      } catch {}
    },
  }
}

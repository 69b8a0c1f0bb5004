# What the comments in the pages may call before a block. Read by the shell that plays a page.

# Waits until a command succeeds, for ten seconds at most.
until_it_works() {
  local tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "never worked: $*" >&2; return 1; }
    sleep 0.1
  done
}

# A gateway in the background, with the settings that the page wrote.
gateway() {
  ~/.cargo/bin/holdstead serve "$@" >>"$HOME/gateway.log" 2>&1 &
  GATEWAY_PID=$!
  until_it_works holdstead inbox "$@"
}

gateway_again() {
  # With other settings than before.
  kill "$GATEWAY_PID"
  wait "$GATEWAY_PID" || true
  gateway "$@"
}

# A PostgreSQL of this page's own, at $POSTGRES.
postgres() {
  # It notes what it started beside itself, and the repository is to be read only.
  install -D "$REPOSITORY/scripts/postgres" ~/postgres/scripts/postgres
  POSTGRES=$(~/postgres/scripts/postgres start)
  export POSTGRES PGUSER=holdstead PGHOST=127.0.0.1
  PGPORT=$(sed -E 's|.*:([0-9]+)/.*|\1|' <<<"$POSTGRES")
  export PGPORT
}

# A session of the scripted agent, in this folder, that was sent this message. Its id is $SESSION.
session() {
  local url=${HOLDSTEAD_URL:-http://127.0.0.1:4780}
  call() {
    curl -sSf "$url$1" -H "Authorization: Bearer $(cat ~/.config/holdstead/token)" \
      -H 'Content-Type: application/json' -d "$2"
  }
  SESSION=$(call /v1/sessions "{\"agent\":\"scripted\",\"title\":\"${2:-shop-api}\",\"cwd\":\"$PWD\"}" | jq -r .sessionId)
  call "/v1/sessions/$SESSION/messages" "$(jq -n --arg text "$1" '{text: $text}')" >/dev/null
}

# The id of the newest open ask, once there is one, as $ASK.
ask() {
  until_it_works has_ask
  ASK=$(holdstead inbox --json | jq -r 'last.request.interactionId')
}

has_ask() {
  has_asks 1
}

has_asks() {
  [ "$(holdstead inbox --json | jq length)" -ge "$1" ]
}

# The pages name asks and sessions by ids like a1c9: from now on, this one means that.
known() {
  export KNOWN="${KNOWN-} $1=$2"
}

holdstead() {
  local argument pair arguments=()
  for argument; do
    for pair in ${KNOWN-}; do
      [ "$argument" != "${pair%%=*}" ] || argument=${pair#*=}
    done
    arguments+=("$argument")
  done
  command holdstead "${arguments[@]}"
}
export -f holdstead

-- Load for wrk: each thread posts its own bodies to one of the ports, each body once, or with BENCH_AGAIN=1 repeatedly.
-- BENCH_BODIES is the path of the bodies without the thread's number, BENCH_PORTS a list of ports, BENCH_TOKEN a bearer token,
-- BENCH_PATH the route.
local count, threads = 0, {}

function setup(thread)
    local ports = {}
    for port in os.getenv("BENCH_PORTS"):gmatch("%d+") do ports[#ports + 1] = port end
    thread:set("number", count)
    threads[#threads + 1] = thread
    thread.addr = wrk.lookup("127.0.0.1", ports[count % #ports + 1])[1]
    count = count + 1
end

local bodies, sent, headers, again = {}, 0, nil, os.getenv("BENCH_AGAIN") == "1"

function init()
    for line in io.lines(os.getenv("BENCH_BODIES") .. number) do bodies[#bodies + 1] = line end
    headers = {
        ["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN"),
        ["Content-Type"] = "application/json",
    }
end

function request()
    sent = sent + 1
    -- When the bodies run out, empty ones are refused, and the refusals show that more bodies are needed.
    local body = bodies[sent] or (again and bodies[(sent - 1) % #bodies + 1]) or ""
    return wrk.format("POST", os.getenv("BENCH_PATH"), headers, body)
end

unavailable = 0

-- Handling an answer in Lua slows the load a little, so only a load with replays checks the status.
if os.getenv("BENCH_AGAIN") == "1" then
    function response(status)
        if status == 503 then unavailable = unavailable + 1 end
    end
end

function done(summary, latency)
    local errors, said = summary.errors, 0
    for _, thread in ipairs(threads) do said = said + (thread:get("unavailable") or 0) end
    io.write(string.format(
        "\nRESULT %d %d %d %d %.3f %.3f %.6f\n", summary.requests, errors.status, said,
        errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.duration / 1e6))
end

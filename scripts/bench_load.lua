-- Load for wrk: each thread posts its own bodies to one of the ports, each body once, or with BENCH_AGAIN=1 over and over.
-- BENCH_BODIES is the file of the bodies without the thread's number, BENCH_PORTS a list of ports, BENCH_TOKEN a bearer,
-- BENCH_PATH the route.
local count = 0

function setup(thread)
    local ports = {}
    for port in os.getenv("BENCH_PORTS"):gmatch("%d+") do ports[#ports + 1] = port end
    thread:set("number", count)
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
    -- Where the bodies run out an empty one is refused, and the refusals show that more were needed.
    local body = bodies[sent] or (again and bodies[(sent - 1) % #bodies + 1]) or ""
    return wrk.format("POST", os.getenv("BENCH_PATH"), headers, body)
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        "\nRESULT %d %d %d %.3f %.3f %.6f\n", summary.requests, errors.status,
        errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.duration / 1e6))
end

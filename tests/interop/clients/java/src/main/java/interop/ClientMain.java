package interop;

import com.netflix.appinfo.ApplicationInfoManager;
import com.netflix.appinfo.InstanceInfo;
import com.netflix.appinfo.InstanceInfo.InstanceStatus;
import com.netflix.discovery.EurekaClient;
import com.netflix.discovery.shared.Application;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Registers, fetches, and tells over HTTP what it sees. */
@SpringBootApplication
@RestController
public class ClientMain {
    private final EurekaClient client;
    private final ApplicationInfoManager self;

    ClientMain(EurekaClient client, ApplicationInfoManager self) {
        this.client = client;
        this.self = self;
    }

    public static void main(String[] args) {
        SpringApplication.run(ClientMain.class, args);
    }

    /** Application -> instance id -> status, as the client's cache holds them. */
    @GetMapping("/seen")
    Map<String, Map<String, String>> seen() {
        Map<String, Map<String, String>> out = new TreeMap<>();
        for (Application a : client.getApplications().getRegisteredApplications()) {
            Map<String, String> ids = new TreeMap<>();
            for (InstanceInfo i : a.getInstancesAsIsFromEureka()) {
                ids.put(i.getInstanceId(), i.getStatus().name());
            }
            out.put(a.getName(), ids);
        }
        return out;
    }

    /** Sets this instance's own status; the client then registers again. */
    @PostMapping("/status")
    void status(@RequestParam("value") InstanceStatus value) {
        self.setInstanceStatus(value);
    }
}
